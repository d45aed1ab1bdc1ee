//! Zip and tar extraction with one buffer.
