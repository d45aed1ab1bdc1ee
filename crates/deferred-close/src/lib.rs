#![doc = include_str!("../README.md")]
// What callers see.
mod closer;
mod durable;
mod errors;
mod finish;
mod group;
mod observe;
// Beside it: before a rename, before a start.
mod retry;
mod scope;
mod spawn_lock;
mod ticket;
mod writers;
// How it works.
mod elastic;
mod ledger;
mod pace;
mod panicked;
mod pool;
mod sync;
mod sys;
mod task;
mod worker;

pub use closer::{Builder, Closer, Policy, Threads};
pub use durable::{FileSystem, Synced};
pub use errors::{CloseError, CloseErrors};
pub use finish::{Dropping, Finish, close_inline};
pub use group::{Group, Handed};
pub use observe::{Observer, Progress, Stats, Throttled};
pub use retry::{Retried, rename_retrying, spawn_retrying};
pub use scope::Scope;
pub use spawn_lock::{SpawnLock, Spawning, Writing};
pub use ticket::Ticket;
pub use worker::Worker;
pub use writers::wait_for_no_writers;
