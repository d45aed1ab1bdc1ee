//! A content-addressed store of files, placed by hard link.
//!
//! For package managers, installers and build caches that unpack the same files again and again: a
//! file that the store has costs one `link` instead of a create, a write and a close.
//!
//! ```
//! use cas_store::{Digest, Executable, Options, Store, TreeBuilder};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (one, two) = (folder.path().join("one"), folder.path().join("two"));
//! # std::fs::create_dir(&one)?;
//! # std::fs::create_dir(&two)?;
//! let store = Store::open(folder.path().join("store"), Options::default())?;
//!
//! // Unpack a package once, hash first.
//! let bytes = b"print('hello')\n";
//! let digest = Digest::of(bytes);
//! store.destination(&one)?.put("hello.py", bytes, digest, Executable::No)?;
//!
//! // Remember what it consists of.
//! let mut tree = TreeBuilder::new();
//! tree.file("hello.py", digest, Executable::No, 15)?;
//! store.write_tree("hello-1.0", &tree.build()?)?;
//!
//! // Install it again without the package.
//! let tree = store.tree("hello-1.0")?.expect("it was just written");
//! let report = tree.place(&store.destination(&two)?)?;
//! assert_eq!(report.linked, 1);
//! assert_eq!(std::fs::read(two.join("hello.py"))?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! * *May lose data, never returns wrong data.* An object is checked when it is used: one `stat`
//!   against mode and a modification time that is a function of digest and size, or a full hash
//!   ([`Protection`]). What fails is set aside and counts as missing.
//! * No lock for those who insert and place, any number of processes: a lost race costs space.
//! * An object is born complete: written at the destination, closed, then linked into the store.
//! * Empty files are never shared. Set-id bits never survive.
//!
//! # When not to use it
//!
//! Files that are edited in place by design; stores on file systems without hard links *and* without
//! clones, where it is a cache of copies.

mod digest;
mod error;
mod fingerprint;
mod layout;
mod path;

mod config;
mod options;
mod store;
mod sys;

mod contest;
mod copying;
mod destination;
mod fresh;
mod new_file;
mod placed;
mod plan;
mod protocol;

#[cfg(test)]
mod model;

mod archive;
mod manifest;
mod place;
mod tree;
mod trees;

mod adopt;
mod savings;
mod stats;
mod sweep;
mod verify;
mod walk;
mod watch;

pub use adopt::{AdoptOptions, AdoptReport, Skipped};
pub use archive::{Archive, ArchiveBuilder};
pub use destination::{Destination, Lookup};
pub use digest::{Digest, Executable, Hasher, NotADigest};
pub use error::{Error, Missing, Result};
pub use new_file::{NewFile, Publish, StreamedFile};
pub use options::{Access, Durability, Options, Protection, Sharing};
pub use place::TreePart;
pub use placed::{PlaceReport, Placed, Quarantined, Why};
pub use plan::Means;
pub use savings::{Savings, SavingsRow, Selection};
pub use stats::StoreStats;
pub use store::Store;
pub use sweep::{SweepOptions, SweepReport};
pub use tree::{Tree, TreeBuilder, TreeFile};
pub use verify::{Damage, Depth, HealedFrom, Sharer, VerifyOptions, VerifyReport};
pub use watch::Progress;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
