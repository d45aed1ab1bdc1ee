//! What a caller can rely on, through the public interface only.
#![cfg(not(any(loom, shuttle)))]

mod barriers;
mod errors;
mod fixture;
mod spawn;
