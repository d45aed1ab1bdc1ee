//! For an async program: a scope blocks, so it runs on a thread, and a future waits for it.
//!
//! With tokio, `spawn_blocking(move || closer.scope(..)).await` is all of this; here it is spelled
//! out with the standard library. The closer's own workers are threads already: they never block an
//! executor.

use std::error::Error;
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use deferred_close::Closer;

/// Writes one package; done when every file is closed, or with the error of the one that is not.
async fn write_package(closer: Arc<Closer>, folder: PathBuf) -> io::Result<usize> {
    on_a_thread(move || {
        closer.scope(|scope| {
            let group = scope.group("package");
            for number in 0..100 {
                let path = folder.join(number.to_string());
                let mut file = File::create(&path)?;
                file.write_all(b"content")?;
                group.close(file, path);
            }
            group.wait()?;
            Ok(100)
        })?
    })
    .await
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("async-bridge-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let files = block_on(write_package(Arc::new(Closer::default()), folder.clone()));
    fs::remove_dir_all(&folder)?;
    assert_eq!(files?, 100);
    Ok(())
}

/// A future of what `work` returns on a thread of its own.
fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> {
    let slot = Arc::new(Mutex::new(Slot { value: None, waker: None }));
    let theirs = Arc::clone(&slot);
    thread::spawn(move || {
        let value = work();
        let mut slot = theirs.lock().unwrap_or_else(PoisonError::into_inner);
        slot.value = Some(value);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    });
    OnAThread { slot }
}

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

struct OnAThread<T> {
    slot: Arc<Mutex<Slot<T>>>,
}

impl<T> Future for OnAThread<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.waker = Some(context.waker().clone());
        slot.value.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// The smallest executor: one future, this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
