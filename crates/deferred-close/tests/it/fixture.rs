//! Values that end when the test says so, and a watchdog.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use deferred_close::{Builder, Closer, Finish, Policy, Threads};

/// A closer that hands over everything.
pub(crate) fn eager(threads: usize) -> Builder {
    Closer::builder().policy(Policy::Always).threads(Threads::Fixed(threads))
}

/// Ends with the given code, or cleanly.
pub(crate) struct Ends(pub(crate) Option<i32>);

impl Finish for Ends {
    fn finish(self) -> io::Result<()> {
        self.0.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
    }
}

/// A door that values wait at.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().expect("no panic under this lock") = true;
        self.0.1.notify_all();
    }

    pub(crate) fn pass(&self) {
        let open = self.0.0.lock().expect("no panic under this lock");
        let _open = self.0.1.wait_while(open, |open| !*open).expect("no panic under it");
    }

    /// Opens the door even if the test panics, so that a red test does not hang as well.
    pub(crate) fn open_on_drop(&self) -> impl Drop + use<> {
        struct Opener(Gate);
        impl Drop for Opener {
            fn drop(&mut self) {
                self.0.open();
            }
        }
        Opener(self.clone())
    }
}

/// Ends once the gate is open, and says that it has begun.
pub(crate) struct Behind {
    gate: Gate,
    begun: Sender<()>,
}

impl Behind {
    pub(crate) fn new(gate: &Gate) -> (Self, Receiver<()>) {
        let (begun, receiver) = mpsc::channel();
        (Self { gate: gate.clone(), begun }, receiver)
    }
}

impl Finish for Behind {
    fn finish(self) -> io::Result<()> {
        let _receiver_may_be_gone = self.begun.send(());
        self.gate.pass();
        Ok(())
    }
}

/// Runs `work` on a thread and fails the test when it hangs.
pub(crate) fn watched<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    let thread = thread::spawn(move || {
        let value = work();
        let _watchdog_may_have_fired = done.send(());
        value
    });
    let answer = wait.recv_timeout(Duration::from_secs(60));
    assert_ne!(answer, Err(mpsc::RecvTimeoutError::Timeout), "hangs");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
