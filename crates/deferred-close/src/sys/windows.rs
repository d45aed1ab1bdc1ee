//! Windows: `CloseHandle` with its answer, no NOFILE limit, executables by their name.

#![expect(unsafe_code, reason = "std has no close that returns the error (rust-lang/rust#98338)")]

use std::fs::File;
use std::io;
use std::os::windows::io::{IntoRawHandle, OwnedHandle};
use std::path::Path;

use windows_sys::Win32::Foundation::CloseHandle;

/// Closes `handle` and returns what the system said.
pub(crate) fn close(handle: OwnedHandle) -> io::Result<()> {
    let raw = handle.into_raw_handle();
    // SAFETY: `into_raw_handle` gave up ownership of `raw`, so this is its only close.
    match unsafe { CloseHandle(raw) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Windows bounds handles by memory only (16 million per process).
pub(crate) fn open_handles_max() -> Option<usize> {
    None
}

/// True for the names that the loader or the shell starts.
pub(crate) fn is_executable(_file: &File, path: &Path) -> bool {
    let started = ["exe", "dll", "com", "bat", "cmd", "pyd"];
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| started.iter().any(|name| name.eq_ignore_ascii_case(extension)))
}
