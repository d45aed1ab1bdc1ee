//! What a caller can rely on, through the public interface only.
#![cfg(not(any(loom, shuttle)))]

mod barriers;
mod errors;
mod fixture;
#[cfg(target_os = "linux")]
mod slow;
mod spawn;
#[cfg(windows)]
mod windows;
