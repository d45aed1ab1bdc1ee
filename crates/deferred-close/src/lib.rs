#![doc = include_str!("../README.md")]
// In reading order.
mod closer;
mod errors;
mod finish;
mod group;
mod observe;
mod scope;
mod ticket;
// How it works.
mod elastic;
mod ledger;
mod pace;
mod pool;
mod sync;
mod sys;
mod task;
mod worker;

pub use closer::{Builder, Closer, Policy, Threads};
pub use errors::{CloseError, CloseErrors};
pub use finish::{Dropping, Finish, Synced, close_inline};
pub use group::{Group, Handed};
pub use observe::{Observer, Progress, Stats};
pub use scope::Scope;
pub use ticket::Ticket;
pub use worker::Worker;
