//! What the two programs share: the archives, and how an error is told.

pub mod archives;

/// What an extraction may fail with.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Prints an error with all its causes.
pub fn tell(error: &dyn std::error::Error) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        eprintln!("  cause: {inner}");
        cause = inner.source();
    }
}
