//! A registry index in one file.
