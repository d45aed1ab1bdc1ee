//! A store's folders: made once, checked on every opening, refused when newer.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
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
use crate::sys::{
    self, Dir, LinkFailure, Seen, UniqueNames, gone_is_fine, is_absent, link_failure, there_is_fine,
};

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
        let fresh = FreshShards::new();
        let config = match read_config(&home)? {
            Some(config) => config,
            None if options.access == Access::ReadWrite => create(root.as_ref(), &options, &fresh)?,
            None => {
                let absent = io::ErrorKind::NotFound.into();
                return Err(Error::io("open the store", root.as_ref(), absent));
            }
        };
        admit(&config, &options, &home)?;
        Ok(Self { inner: Arc::new(Inner::new(&home, config, options, fresh)?) })
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
    fn new(home: &Path, config: Config, options: Options, fresh: FreshShards) -> Result<Self> {
        let home = Dir::open(home).map_err(|error| Error::io("open", home, error))?;
        let fail = |name: &str, error| Error::io("open", home.path().join(name), error);
        let objects =
            home.open_folder(layout::OBJECTS).map_err(|error| fail(layout::OBJECTS, error))?;
        for name in layout::FOLDERS {
            check_folder(&home, name).map_err(|error| fail(name, error))?;
        }
        Ok(Self {
            home,
            is_overlay: sys::is_overlay(&objects),
            objects,
            options,
            config,
            plans: Plans::default(),
            fresh,
            names: UniqueNames::new(),
            owner: sys::current_owner(),
        })
    }

    /// Whether an inode can be the object `digest` as far as its stat tells. What the caller takes for
    /// the size has no say: it may be a stranger's word, and the time is made from the real one.
    pub(crate) fn looks_like(&self, seen: &Seen, digest: &Digest, executable: Executable) -> bool {
        seen.kind == sys::FileKind::Regular
            && seen.mode == self.config.mode(executable)
            && fingerprint::matches(digest, seen.size, seen.modified, self.config.time_unit_ns)
    }

    /// Refuses a shard that is a symbolic link: what is behind it is not the store's to hand out, to
    /// move or to add to. Each is looked at once.
    pub(crate) fn check_shard(&self, object: &ObjectName, digest: &Digest) -> io::Result<()> {
        if self.fresh.is_folder(digest) {
            return Ok(());
        }
        match self.objects.stat(object.shard()) {
            Ok(seen) if seen.kind != sys::FileKind::Folder => Err(sys::not_a_folder()),
            Ok(_) => {
                self.fresh.found_folder(digest);
                Ok(())
            }
            // The call that follows says it better.
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn open_object(&self, object: &ObjectName, digest: &Digest) -> io::Result<fs::File> {
        self.check_shard(object, digest)?;
        self.objects.open_file(object.as_str())
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

    /// Like [`stamp`](Self::stamp), for a file that others may be writing to: true when it still has
    /// the bytes of `digest`.
    ///
    /// Hashed after the stamp: a write before it is seen by the hash, and one after it changes the
    /// time. A stamp after the hash could cover up what was written between the two.
    pub(crate) fn stamp_and_prove(
        &self,
        file: &fs::File,
        digest: &Digest,
        executable: Executable,
    ) -> io::Result<bool> {
        self.stamp(file, digest, executable)?;
        let mut reader = file;
        reader.seek(SeekFrom::Start(0))?;
        Ok(Digest::of_reader(reader)?.0 == *digest)
    }

    /// The names in one of the store's folders, which must be one; none when it is not there.
    pub(crate) fn names_in(&self, folder: &str) -> Result<Vec<String>> {
        match self.home.open_folder(folder).and_then(|folder| folder.names()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            named => named.map_err(|error| self.home_error("list", folder, error)),
        }
    }

    /// The objects of a shard. One that is not there, or is no folder, has none.
    pub(crate) fn objects_in(&self, shard: &str) -> Result<Vec<(Digest, Executable)>> {
        let is_none = |error| is_absent(error) || link_failure(error) == LinkFailure::Missing;
        let names = match self.objects.open_folder(shard).and_then(|folder| folder.names()) {
            Err(error) if is_none(&error) => return Ok(Vec::new()),
            named => named,
        };
        let names =
            names.map_err(|error| Error::io("list", self.objects.path().join(shard), error))?;
        Ok(names.iter().filter_map(|name| layout::parse_object(shard, name)).collect())
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

/// What is longer is no config.
const CONFIG_BYTES_MAX: u64 = 1 << 16;

fn read_config(home: &Path) -> Result<Option<Config>> {
    let path = home.join(layout::CONFIG);
    let mut text = Vec::new();
    let read = |file: fs::File| file.take(CONFIG_BYTES_MAX).read_to_end(&mut text);
    match Dir::open(home).and_then(|dir| dir.open_file(layout::CONFIG)).and_then(read) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    }
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

/// A symbolic link in place of a folder would have a sweep remove files elsewhere.
fn check_folder(home: &Dir, name: &str) -> io::Result<()> {
    match home.stat(name) {
        Ok(seen) if seen.kind != sys::FileKind::Folder => Err(io::ErrorKind::NotADirectory.into()),
        seen => gone_is_fine(seen.map(drop)),
    }
}

/// Makes every folder, then the config: a store without config is one that is being made.
fn create(root: &Path, options: &Options, fresh: &FreshShards) -> Result<Config> {
    let home = root.join(layout::VERSION);
    make_folders(root, &home, options, fresh)
        .map_err(|error| Error::io("create the store", root, error))?;
    let dir = Dir::open(&home).map_err(|error| Error::io("open", &home, error))?;
    let config = learn_config(&dir, options).map_err(|error| Error::io("probe", &home, error))?;
    install_config(&dir, &config).map_err(|error| Error::io("write the config", &home, error))?;
    // Another process may have been first; its settings count.
    read_config(&home)?.ok_or_else(|| Error::corrupt(home, 1, "the config vanished"))
}

fn make_folders(
    root: &Path,
    home: &Path,
    options: &Options,
    fresh: &FreshShards,
) -> io::Result<()> {
    fs::create_dir_all(root)?;
    there_is_fine(make_tag(&Dir::open(root)?))?;
    there_is_fine(fs::create_dir(home))?;
    let dir = Dir::open(home)?;
    for name in layout::FOLDERS {
        make_folder(&dir, name, options)?;
    }
    if make_folder(&dir, layout::OBJECTS, options)? {
        fresh.all_unmade();
    }
    Ok(())
}

fn make_tag(root: &Dir) -> io::Result<()> {
    root.create_new(layout::CACHE_TAG, 0o666)?.write_all(layout::CACHE_TAG_TEXT.as_bytes())
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
        Err(error) if link_failure(&error) == LinkFailure::Refused => {
            home.rename(&name, home, layout::CONFIG)
        }
        other => there_is_fine(other),
    });
    gone_is_fine(home.unlink(&name))?;
    named
}
