//! A store's folders: made once, checked on every opening, refused when newer.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{Config, FORMAT};
use crate::destination::Destination;
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::fingerprint;
use crate::fresh::FreshShards;
use crate::layout::{self, ObjectName};
use crate::options::{Access, Options, Protection, Sharing};
use crate::plan::Plans;
use crate::sys::{self, Dir, LinkFailure, Seen, UniqueNames, gone_is_fine, there_is_fine};

/// A content-addressed store of files in a folder.
///
/// Cheap to clone; any number of threads and processes may use the same folder at once, without a
/// lock.
///
/// # Examples
///
/// ```
/// use cas_store::{Digest, Executable, Options, Placed, Store};
///
/// # let folder = tempfile::tempdir()?;
/// # let (one, two) = (folder.path().join("one"), folder.path().join("two"));
/// # std::fs::create_dir(&one)?;
/// # std::fs::create_dir(&two)?;
/// let store = Store::open(folder.path().join("store"), Options::default())?;
/// let bytes = b"print('hello')\n";
/// let digest = Digest::of(bytes);
///
/// let first = store.destination(&one)?;
/// let placed = first.put("pkg/hello.py", bytes, digest, Executable::No)?;
/// assert_eq!(placed, Placed::WroteAndPublished);
///
/// let second = store.destination(&two)?;
/// let placed = second.put("pkg/hello.py", bytes, digest, Executable::No)?;
/// assert_eq!(placed, Placed::Linked);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) config: Config,
    /// The version's folder, in which everything else is named.
    pub(crate) home: Dir,
    /// The objects' folder, held open because every placement goes through it.
    pub(crate) objects: Dir,
    pub(crate) plans: Plans,
    pub(crate) fresh: FreshShards,
    pub(crate) names: UniqueNames,
    pub(crate) owner: u32,
    /// Whether a link may silently copy a file of a lower layer.
    pub(crate) is_overlay: bool,
}

impl Store {
    /// Opens the store at `root`, and makes it if there is none and the access allows.
    ///
    /// # Errors
    ///
    /// [`is_newer_store`](Error::is_newer_store) when a newer version made it (nothing is changed),
    /// [`is_corrupt`](Error::is_corrupt) when its `config` is damaged,
    /// [`is_different_settings`](Error::is_different_settings) when read-only or group-shared objects
    /// are asked for and the store was created without,
    /// [`is_not_found`](Error::is_not_found) when it is to be read only and is not there.
    pub fn open(root: impl AsRef<Path>, options: Options) -> Result<Self> {
        let home = root.as_ref().join(layout::VERSION);
        let config = match read_config(&home)? {
            Some(config) => config,
            None if options.access == Access::ReadWrite => create(root.as_ref(), &options)?,
            None => {
                let absent = io::ErrorKind::NotFound.into();
                return Err(Error::io("open the store", root.as_ref(), absent));
            }
        };
        admit(&config, &options, &home)?;
        Ok(Self { inner: Arc::new(Inner::new(&home, config, options)?) })
    }

    /// The folder that this version of the store lives in.
    pub fn path(&self) -> &Path {
        self.inner.home.path()
    }

    /// Prepares to place files in `folder`, which must exist.
    ///
    /// The first destination on each mount is probed with a small file: hard link, else
    /// copy-on-write clone, else copy. The answer is kept for the life of the store's handle.
    ///
    /// # Errors
    ///
    /// When `folder` cannot be opened or written to.
    pub fn destination(&self, folder: impl AsRef<Path>) -> Result<Destination> {
        Destination::open(Arc::clone(&self.inner), folder.as_ref())
    }

    /// Returns true when the store has the object. It may be gone a moment later, and its bytes are
    /// not looked at.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn contains(&self, digest: Digest, executable: Executable) -> Result<bool> {
        let name = ObjectName::new(&digest, executable);
        match self.inner.objects.stat(name.as_str()) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.inner.object_error("look up", &name, error)),
        }
    }

    /// The path of an object, for people and for `b3sum`; it need not exist.
    pub fn object_path(&self, digest: Digest, executable: Executable) -> PathBuf {
        self.inner.objects.path().join(ObjectName::new(&digest, executable).as_str())
    }
}

impl Inner {
    fn new(home: &Path, config: Config, options: Options) -> Result<Self> {
        let open = |path: &Path| Dir::open(path).map_err(|error| Error::io("open", path, error));
        let objects = open(&home.join(layout::OBJECTS))?;
        Ok(Self {
            home: open(home)?,
            is_overlay: sys::is_overlay(&objects),
            objects,
            options,
            config,
            plans: Plans::default(),
            fresh: FreshShards::new(),
            names: UniqueNames::new(),
            owner: sys::current_owner(),
        })
    }

    /// Whether an inode can be the object `digest` as far as its stat tells.
    pub(crate) fn looks_like(
        &self,
        seen: &Seen,
        digest: &Digest,
        executable: Executable,
        size: Option<u64>,
    ) -> bool {
        seen.kind == sys::FileKind::Regular
            && size.is_none_or(|size| size == seen.size)
            && seen.mode == self.config.mode(executable)
            && fingerprint::matches(digest, seen.size, seen.modified, self.config.time_unit_ns)
    }

    /// Whether the stat is not enough: asked for, or somebody else could have edited and put it back.
    pub(crate) fn needs_hash(&self, seen: &Seen) -> bool {
        self.options.protection == Protection::Verify || seen.owner != self.owner
    }

    /// Gives a finished file the time and the mode that its object has.
    pub(crate) fn stamp(
        &self,
        file: &fs::File,
        digest: &Digest,
        executable: Executable,
    ) -> io::Result<()> {
        let (seen, mode) = (sys::stat_file(file)?, self.config.mode(executable));
        if seen.mode != mode {
            sys::set_file_mode(file, mode)?;
        }
        sys::set_modified(file, fingerprint::of(digest, seen.size))
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.options.access == Access::ReadOnly
    }

    /// A fresh name in the store's folder of unfinished files.
    pub(crate) fn temporary(&self) -> String {
        format!("{}/{}", layout::TEMPORARY, self.names.next())
    }

    #[cold]
    pub(crate) fn object_error(
        &self,
        verb: &'static str,
        name: &ObjectName,
        error: io::Error,
    ) -> Error {
        Error::io(verb, self.objects.path().join(name.as_str()), error)
    }

    #[cold]
    pub(crate) fn home_error(&self, verb: &'static str, name: &str, error: io::Error) -> Error {
        Error::io(verb, self.home.path().join(name), error)
    }
}

fn read_config(home: &Path) -> Result<Option<Config>> {
    let path = home.join(layout::CONFIG);
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let text = str::from_utf8(&text).map_err(|_| Error::corrupt(&path, 1, "not text"))?;
    Config::decode(text).map(Some).map_err(|what| Error::corrupt(path, 1, what))
}

/// Refuses a store that this program, or these options, do not fit.
fn admit(config: &Config, options: &Options, home: &Path) -> Result<()> {
    let needed = match options.access {
        Access::ReadOnly => config.reader,
        Access::ReadWrite => config.writer.max(config.reader),
    };
    if needed > FORMAT {
        return Err(Error::newer(home, needed, FORMAT));
    }
    if options.protection == Protection::ReadOnly && config.plain_mode & 0o222 != 0 {
        return Err(Error::differs(home, "protection (its objects are writable)"));
    }
    if options.sharing == Sharing::Group && config.plain_mode & 0o040 == 0 {
        return Err(Error::differs(home, "sharing (its objects are closed to the group)"));
    }
    Ok(())
}

/// Makes every folder, then the config: a store without config is one that is being made.
fn create(root: &Path, options: &Options) -> Result<Config> {
    let home = root.join(layout::VERSION);
    make_folders(root, &home, options)
        .map_err(|error| Error::io("create the store", root, error))?;
    let dir = Dir::open(&home).map_err(|error| Error::io("open", &home, error))?;
    let config = learn_config(&dir, options).map_err(|error| Error::io("probe", &home, error))?;
    install_config(&dir, &config).map_err(|error| Error::io("write the config", &home, error))?;
    // Another process may have been first; its settings count.
    read_config(&home)?.ok_or_else(|| Error::corrupt(home, 1, "the config vanished"))
}

fn make_folders(root: &Path, home: &Path, options: &Options) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let tag = root.join(layout::CACHE_TAG);
    if !tag.try_exists()? {
        fs::write(tag, layout::CACHE_TAG_TEXT)?;
    }
    there_is_fine(fs::create_dir(home))?;
    let dir = Dir::open(home)?;
    for name in
        [layout::OBJECTS, layout::TREES, layout::ARCHIVES, layout::QUARANTINE, layout::TEMPORARY]
    {
        make_folder(&dir, name, options)?;
    }
    Ok(())
}

/// Makes a folder with the store's modes; false when it was there.
pub(crate) fn make_folder(dir: &Dir, name: &str, options: &Options) -> io::Result<bool> {
    match dir.make_dir(name, 0o777) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        other => other?,
    }
    if options.sharing == Sharing::Group {
        dir.set_mode(name, 0o2775)?;
    }
    Ok(true)
}

/// Asks the file system what a new file's mode is and how exact its times are.
fn learn_config(home: &Dir, options: &Options) -> io::Result<Config> {
    let name = format!("{}/{}", layout::TEMPORARY, UniqueNames::new().next());
    let file = home.create_new(&name, 0o666)?;
    let natural = sys::stat_file(&file)?.mode & 0o666;
    let asked = fingerprint::of(&Digest::EMPTY, 0);
    let set = sys::set_modified(&file, asked);
    drop(file);
    let seen = home.stat(&name);
    home.unlink(&name)?;
    set?;
    let plain = mode_of_objects(natural, options);
    Ok(Config {
        format: FORMAT,
        reader: FORMAT,
        writer: FORMAT,
        plain_mode: plain,
        executable_mode: with_execute(plain),
        time_unit_ns: time_unit_ns(seen?.modified),
    })
}

fn mode_of_objects(natural: u32, options: &Options) -> u32 {
    let plain = if options.sharing == Sharing::Group { natural | 0o664 } else { natural };
    if options.protection == Protection::ReadOnly { plain & !0o222 } else { plain }
}

/// Who may read may execute.
pub(crate) fn with_execute(mode: u32) -> u32 {
    mode | (mode & 0o444) >> 2
}

/// The smallest unit in which the time that was asked for and the one that came back agree.
fn time_unit_ns(seen: fingerprint::Instant) -> u32 {
    [1, 100, 1_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .find(|&unit| fingerprint::matches(&Digest::EMPTY, 0, seen, unit))
        .unwrap_or(2_000_000_000)
}

/// Links the finished file to its name: whoever is first decides, and nobody sees half a file.
fn install_config(home: &Dir, config: &Config) -> io::Result<()> {
    let name = format!("{}/{}", layout::TEMPORARY, UniqueNames::new().next());
    let mut file = home.create_new(&name, 0o666)?;
    let written = file.write_all(config.encode().as_bytes());
    drop(file);
    let named = written.and_then(|()| match home.link(&name, home, layout::CONFIG) {
        // File systems without hard links: the last creator decides, which is as good.
        Err(error) if sys::link_failure(&error) == LinkFailure::Refused => {
            home.rename(&name, home, layout::CONFIG)
        }
        other => there_is_fine(other),
    });
    gone_is_fine(home.unlink(&name))?;
    named
}
