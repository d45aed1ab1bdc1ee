//! What the two programs share: the archives, and where fetched and built things are kept.

pub mod archives;
pub mod kept;

/// What an extraction may fail with.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
