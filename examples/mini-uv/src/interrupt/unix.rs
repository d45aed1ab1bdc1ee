//! Signals on Unix: a thread waits for the first, the system's own handling takes the second.
//!
//! A hangup is not among them: listening would take back what `nohup` promised.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::{flag, low_level};

const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Wakes the listener when the work is done, also by a panic.
struct Listening(Handle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Does `work` and returns the first signal that came meanwhile, for which `stop` was called.
pub(super) fn listen<T>(
    stop: impl Fn() + Send,
    work: impl FnOnce() -> T,
) -> io::Result<(T, Option<i32>)> {
    // Once this is set, signals do again what they do to a process that does not listen.
    let usual = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register_conditional_default(signal, Arc::clone(&usual))?;
    }
    let mut signals = Signals::new(SIGNALS)?;
    let listening = Listening(signals.handle());
    let heard = move || {
        let first = signals.forever().next();
        usual.store(true, Ordering::SeqCst);
        if first.is_some() {
            stop();
        }
        first
    };
    thread::scope(|threads| {
        let listener = threads.spawn(heard);
        let done = work();
        drop(listening);
        match listener.join() {
            Ok(first) => Ok((done, first)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Dies of `signal`.
pub(super) fn die(signal: i32) {
    // A signal that cannot be emulated leaves the exit code of an error.
    low_level::emulate_default_handler(signal).unwrap_or(());
}
