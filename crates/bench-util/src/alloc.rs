//! Counts the allocations of the whole process, so also those of worker threads.
//!
//! Counters per thread (as divan and zenbench keep them) miss what a pool does on behalf of the
//! measured call. Here every thread adds to the same relaxed atomics; that costs some nanoseconds
//! per call, the same for every case of a comparison.

#![expect(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A global allocator that counts and passes on.
///
/// # Examples
///
/// ```
/// use bench_util::CountingAlloc;
///
/// #[global_allocator]
/// static ALLOC: CountingAlloc = CountingAlloc::new();
///
/// let before = ALLOC.stats();
/// let buffer = vec![0_u8; 10_000];
/// let grown = ALLOC.stats().since(&before);
/// assert!(grown.calls >= 1 && grown.large_calls >= 1 && grown.bytes >= 10_000);
/// assert!(ALLOC.stats().peak_bytes >= 10_000);
/// drop(buffer);
/// ```
#[derive(Debug)]
pub struct CountingAlloc<A = System> {
    inner: A,
    large_from_bytes: usize,
    calls: AtomicU64,
    large_calls: AtomicU64,
    bytes: AtomicU64,
    live_bytes: AtomicU64,
    peak_bytes: AtomicU64,
}

/// What a [`CountingAlloc`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocStats {
    /// Allocations and growths.
    pub calls: u64,
    /// Those of at least the allocator's limit, 4096 bytes unless set.
    pub large_calls: u64,
    /// Bytes asked for; a growth counts what it adds.
    pub bytes: u64,
    /// Bytes held now.
    pub live_bytes: u64,
    /// Most bytes held at once since the start or [`CountingAlloc::restart_peak`].
    pub peak_bytes: u64,
}

impl AllocStats {
    /// What was allocated since `earlier`; `live_bytes` and `peak_bytes` stay as they are now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            calls: self.calls - earlier.calls,
            large_calls: self.large_calls - earlier.large_calls,
            bytes: self.bytes - earlier.bytes,
            ..*self
        }
    }
}

impl CountingAlloc {
    /// Counts what goes to the system's allocator.
    pub const fn new() -> Self {
        Self::over(System, 4096)
    }
}

impl Default for CountingAlloc {
    fn default() -> Self {
        Self::new()
    }
}

impl<A> CountingAlloc<A> {
    /// Counts what goes to `inner`, and apart what is at least `large_from_bytes` big.
    pub const fn over(inner: A, large_from_bytes: usize) -> Self {
        Self {
            inner,
            large_from_bytes,
            calls: AtomicU64::new(0),
            large_calls: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
        }
    }

    /// Returns the counts so far. Each is exact; together they are not one moment in time.
    pub fn stats(&self) -> AllocStats {
        AllocStats {
            calls: self.calls.load(Relaxed),
            large_calls: self.large_calls.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            live_bytes: self.live_bytes.load(Relaxed),
            peak_bytes: self.peak_bytes.load(Relaxed),
        }
    }

    /// Starts the peak anew from what is held now, and returns the counts.
    pub fn restart_peak(&self) -> AllocStats {
        self.peak_bytes.store(self.live_bytes.load(Relaxed), Relaxed);
        self.stats()
    }

    fn grew(&self, size: usize, added: usize) {
        self.calls.fetch_add(1, Relaxed);
        if size >= self.large_from_bytes {
            self.large_calls.fetch_add(1, Relaxed);
        }
        self.bytes.fetch_add(added as u64, Relaxed);
        let live = self.live_bytes.fetch_add(added as u64, Relaxed) + added as u64;
        self.peak_bytes.fetch_max(live, Relaxed);
    }

    fn shrank(&self, removed: usize) {
        self.live_bytes.fetch_sub(removed as u64, Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to an allocator that keeps the contract; the counters
// are atomics, which neither allocate nor unwind.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAlloc<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is passed on.
        let pointer = unsafe { self.inner.alloc(layout) };
        if !pointer.is_null() {
            self.grew(layout.size(), layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is passed on.
        let pointer = unsafe { self.inner.alloc_zeroed(layout) };
        if !pointer.is_null() {
            self.grew(layout.size(), layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `inner` with this layout, because `alloc` passes on.
        unsafe { self.inner.dealloc(pointer, layout) };
        self.shrank(layout.size());
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `pointer` came from `inner` with this layout, because `alloc` passes on.
        let moved = unsafe { self.inner.realloc(pointer, layout, size) };
        if moved.is_null() {
            return moved;
        }
        if size > layout.size() {
            self.grew(size, size - layout.size());
        } else {
            self.shrank(layout.size() - size);
        }
        moved
    }
}
