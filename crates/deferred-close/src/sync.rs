//! The locks, counters and threads of the standard library, or those of a model checker.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{Builder, ThreadId, current},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{Builder, ThreadId, current},
};
#[cfg(loom)]
pub(crate) use std::sync::PoisonError;

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{Builder, ThreadId, current},
};
#[cfg(shuttle)]
pub(crate) use std::sync::PoisonError;
