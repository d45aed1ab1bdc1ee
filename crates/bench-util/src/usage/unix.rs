//! `getrusage` and `wait4`, which no safe wrapper offers with all their fields.

#![expect(unsafe_code, reason = "getrusage(2) and wait4(2) fill a struct through a pointer")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};

use super::Usage;

pub(super) fn of_this_process() -> Option<Usage> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to a live, writable `rusage`.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: getrusage returned 0, so it has filled the struct.
    Some(convert(&unsafe { usage.assume_init() }))
}

/// `Child` does not wait when it is dropped, so reaping its process here is not done twice.
#[expect(clippy::needless_pass_by_value, reason = "nobody may wait for it again")]
pub(super) fn wait(child: Child) -> io::Result<(ExitStatus, Option<Usage>)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    loop {
        // SAFETY: both pointers are to live, writable values of the types that wait4 expects.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if reaped == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: wait4 returned the process, so it has filled the struct.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), Some(convert(&usage))))
}

fn convert(usage: &libc::rusage) -> Usage {
    Usage {
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss_kib: count(usage.ru_maxrss) / RSS_UNITS_PER_KIB,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }
}

/// macOS counts bytes, everyone else KiB.
const RSS_UNITS_PER_KIB: u64 = if cfg!(target_os = "macos") { 1024 } else { 1 };

fn microseconds(time: libc::timeval) -> u64 {
    count(time.tv_sec) * 1_000_000 + count(time.tv_usec)
}

fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}
