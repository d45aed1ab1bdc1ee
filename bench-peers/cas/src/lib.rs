//! What the two programs of this package share.

pub mod corpus;
pub mod floor;
pub mod folder;
pub mod orders;
pub mod pipelines;
