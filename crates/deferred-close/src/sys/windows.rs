//! Windows: `CloseHandle` with its answer, no NOFILE limit, executables by their name.

#![expect(unsafe_code, reason = "std has no close with an answer (rust-lang/rust#98338)")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, IntoRawHandle, OwnedHandle};
use std::path::Path;

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_ACCESS_DENIED, ERROR_LOCK_VIOLATION, ERROR_SHARING_VIOLATION, WIN32_ERROR,
};
use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_BACKUP_SEMANTICS;

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
pub(crate) fn is_executable(_file: impl AsHandle, path: &Path) -> bool {
    let started = ["exe", "dll", "com", "bat", "cmd", "pyd"];
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| started.iter().any(|name| name.eq_ignore_ascii_case(extension)))
}

/// True while somebody, often a virus scanner, has the file or one in the folder open.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION]
        .into_iter()
        .any(|code| is_code(error, code))
}

/// True when the program is open for writing.
pub(crate) fn is_busy_program(error: &io::Error) -> bool {
    is_code(error, ERROR_SHARING_VIOLATION)
}

fn is_code(error: &io::Error, code: WIN32_ERROR) -> bool {
    error.raw_os_error().and_then(|raw| WIN32_ERROR::try_from(raw).ok()) == Some(code)
}

/// A folder opens only with backup semantics.
pub(crate) fn open_folder(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder)
}

/// Flushing a volume needs an administrator's handle to it.
pub(crate) fn sync_file_system(_folder: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn has_writers(_file: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}
