//! The questions that have a different answer on each platform, with equal signatures.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{
    close, has_writers, is_busy_program, is_executable, is_passing, open_folder, open_handles_max,
    sync_file_system,
};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::{
    close, has_writers, is_busy_program, is_executable, is_passing, open_folder, open_handles_max,
    sync_file_system,
};
