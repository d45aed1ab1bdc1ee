//! The four questions that have a different answer on each platform, with equal signatures.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{close, is_executable, open_handles_max};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::{close, is_executable, open_handles_max};
