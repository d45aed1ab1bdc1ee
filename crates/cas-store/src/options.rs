//! What a caller decides when opening a store. Nothing is read from the environment.

use std::fmt;
use std::sync::Arc;

/// How far a store goes against files that are edited through a hard link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protection {
    /// Every hit is checked by one `stat`: mode, and the modification time made from digest and size.
    /// Ordinary edits are found; the object is set aside and made anew.
    #[default]
    Detect,
    /// As `Detect`, and objects carry no write permission.
    ///
    /// Decided when the store is created. It helps one user against accidents: root ignores it, and
    /// editors that save by renaming go around it (harmlessly). Other users cannot link such objects
    /// where `fs.protected_hardlinks` is on. On Windows it is `Detect`: a read-only file could not be
    /// replaced there.
    ReadOnly,
    /// Placements never share an inode: copy-on-write clones where the file system has them, copies
    /// elsewhere.
    Cow,
    /// As `Detect`, and every hit is read and hashed before it is used.
    Verify,
}

/// Who may use the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// The modes that the creator's umask gives. A process with a stricter umask gets copies.
    #[default]
    Umask,
    /// Objects are writable by the group (0664 and 0775) whatever the umask, folders keep the group
    /// (set-group-id): like git's `core.sharedRepository=group`. Objects of another user are hashed
    /// before they are used.
    Group,
}

/// Whether the store may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Access {
    /// Objects are added and set aside.
    #[default]
    ReadWrite,
    /// Nothing under the store's root is changed; what is missing is written at the destination only.
    ReadOnly,
}

/// What a crash of the machine may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// No sync at all. After a power loss recent objects may be missing or cut short; the time of a cut
    /// one does not fit its size, so it is treated as missing.
    #[default]
    Fast,
    /// One file-system sync before each manifest is written: a tree that is listed is whole.
    Durable,
}

/// Says which files must have an inode of their own.
type Private = Arc<dyn Fn(&str, u64) -> bool + Send + Sync>;

/// Settings of [`Store::open`](crate::Store::open).
///
/// # Examples
///
/// ```
/// use cas_store::{Options, Protection};
///
/// let options = Options::default()
///     .protection(Protection::Verify)
///     .private(|path, _size| path.ends_with(".dist-info/RECORD"));
/// assert!(format!("{options:?}").contains("Verify"));
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Options {
    pub(crate) protection: Protection,
    pub(crate) sharing: Sharing,
    pub(crate) access: Access,
    pub(crate) durability: Durability,
    pub(crate) private: Option<Private>,
}

impl Options {
    /// How edits through a hard link are met.
    pub fn protection(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    /// Which modes objects get. Matters when the store is created; later it must not contradict.
    pub fn sharing(self, sharing: Sharing) -> Self {
        Self { sharing, ..self }
    }

    /// Whether the store may be changed.
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// What is synced, and when.
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Files for which `is_private(path, size_in_bytes)` holds never share an inode with an object:
    /// those that a later step rewrites in place. Empty files are always private.
    pub fn private(self, is_private: impl Fn(&str, u64) -> bool + Send + Sync + 'static) -> Self {
        Self { private: Some(Arc::new(is_private)), ..self }
    }

    pub(crate) fn is_private(&self, path: &str, size: u64) -> bool {
        self.private.as_ref().is_some_and(|hook| hook(path, size))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("protection", &self.protection)
            .field("sharing", &self.sharing)
            .field("access", &self.access)
            .field("durability", &self.durability)
            .field("private", &self.private.is_some())
            .finish()
    }
}
