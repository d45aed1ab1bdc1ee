//! Tests of the public surface. Names are sentences.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ground;
mod place;
mod tree;
