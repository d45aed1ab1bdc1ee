//! What the operating system charged for a piece of work: CPU time, faults, switches, peak memory.
//!
//! One file per platform, equal signatures. This module does no timing: that is `meter.rs`.

use std::io;
use std::process::{Child, ExitStatus};

use serde::{Deserialize, Serialize};

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod imp;

/// Resources charged to a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// CPU time in user mode, microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_us: u64,
    /// Highest resident memory, KiB. For work inside this process: of its whole life so far.
    pub max_rss_kib: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Times the work waited.
    pub voluntary_switches: u64,
    /// Times the work was pushed off its core.
    pub involuntary_switches: u64,
}

impl Usage {
    /// Returns what this process, all threads together, used so far; `None` where unknown.
    pub fn of_this_process() -> Option<Self> {
        imp::of_this_process()
    }

    /// CPU time of both modes, microseconds.
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            max_rss_kib: self.max_rss_kib,
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }

    /// What both used, one after the other.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
            max_rss_kib: self.max_rss_kib.max(other.max_rss_kib),
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// Waits for `child` and returns what it and its own waited-for children used.
pub(crate) fn wait(child: Child) -> io::Result<(ExitStatus, Option<Usage>)> {
    imp::wait(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_busy_child_is_charged_for_its_work() {
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3";
        let child = std::process::Command::new("sh").args(["-c", busy]).spawn().unwrap();
        let (status, usage) = wait(child).unwrap();
        let usage = usage.unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.cpu_us() > 0 && usage.max_rss_kib > 100, "{usage:?}");
    }

    #[test]
    fn a_difference_keeps_the_peak() {
        let earlier = Usage { user_us: 5, max_rss_kib: 10, ..Usage::default() };
        let later = Usage { user_us: 12, max_rss_kib: 30, ..Usage::default() };
        assert_eq!(
            later.since(&earlier),
            Usage { user_us: 7, max_rss_kib: 30, ..Usage::default() }
        );
    }
}
