//! Real file systems and mounts. These need root, loop devices, and `mkfs.ext4`, `mkfs.xfs`,
//! `mkfs.btrfs` (Debian packages e2fsprogs, xfsprogs, btrfs-progs); in CI they fail without them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cas_store::{
    Access, Digest, Executable, Means, Options, Placed, Protection, Store, SweepOptions,
    TreeBuilder, VerifyOptions, Why,
};
use tempfile::TempDir;

use crate::ground::{Ground, can_run, inode, links, names, put};

/// Runs a program, with its output in the panic when it fails.
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
}

/// Mounts that are undone in reverse order, and the folder they are in.
struct Disk {
    root: TempDir,
    mounts: Vec<PathBuf>,
}

impl Disk {
    fn new() -> Self {
        Self { root: tempfile::tempdir_in("/dev/shm").unwrap(), mounts: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).unwrap();
        self.path(name)
    }

    /// Mounts on the folder `at`, with these arguments before it.
    fn mount(&mut self, arguments: &[&str], at: &str) -> PathBuf {
        let at = self.folder(at);
        run("mount", &[arguments, &[at.to_str().unwrap()]].concat());
        self.mounts.push(at.clone());
        at
    }

    /// A fresh file system in an image, made by `mkfs` with its options.
    fn format(&mut self, mebibytes: u64, mkfs: &[&str]) -> PathBuf {
        let image = self.path("image");
        File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let image = image.to_str().unwrap();
        run(mkfs[0], &[&mkfs[1..], &[image]].concat());
        self.mount(&["-o", "loop", image], "disk")
    }

    fn ext4(&mut self) -> PathBuf {
        self.format(64, &["mkfs.ext4", "-q", "-F"])
    }

    fn xfs(&mut self) -> PathBuf {
        self.format(320, &["mkfs.xfs", "-q"])
    }

    fn btrfs(&mut self) -> PathBuf {
        self.format(160, &["mkfs.btrfs", "-q"])
    }

    fn tmpfs(&mut self, size: &str) -> PathBuf {
        self.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "none"], "memory")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            let undone = Command::new("umount").arg("-l").arg(mount).status();
            assert!(undone.is_ok_and(|status| status.success()) || std::thread::panicking());
        }
    }
}

fn open(root: &Path, options: Options) -> Store {
    Store::open(root, options).unwrap()
}

fn env(store: &Store, folder: &Path) -> cas_store::Destination {
    fs::create_dir_all(folder).unwrap();
    store.destination(folder).unwrap()
}

const BYTES: &[u8] = &[42; 9000];

/// Everything a store does, once, between two folders; returns how the second one was served.
fn exercise(store_at: &Path, envs: &Path, options: Options) -> (Means, Placed) {
    let store = open(store_at, options);
    let (one, two) = (env(&store, &envs.join("one")), env(&store, &envs.join("two")));
    assert_eq!(put(&one, "a/b/file", BYTES), Placed::WroteAndPublished);
    let digest = Digest::of(BYTES);
    let placed = two.put("tool", BYTES, digest, Executable::Yes).unwrap();
    assert_eq!(placed, Placed::WroteAndPublished);
    let placed = put(&two, "file", BYTES);
    assert_eq!(fs::read(envs.join("two/file")).unwrap(), BYTES);

    let mut tree = TreeBuilder::new();
    tree.file("a/b/file", digest, Executable::No, BYTES.len() as u64).unwrap();
    tree.file("tool", digest, Executable::Yes, BYTES.len() as u64).unwrap();
    store.write_tree("tree", &tree.build().unwrap()).unwrap();
    for name in ["one", "two"] {
        fs::remove_dir_all(envs.join(name)).unwrap();
    }
    let swept = store.sweep(SweepOptions::default().grace(Duration::ZERO)).unwrap();
    assert_eq!((swept.objects_removed, swept.objects_kept), (0, 2), "the manifest keeps them");
    let three = env(&store, &envs.join("three"));
    store.tree("tree").unwrap().unwrap().place(&three).unwrap();
    assert_eq!(fs::read(envs.join("three/a/b/file")).unwrap(), BYTES);
    assert_eq!(crate::ground::mode(&envs.join("three/tool")) & 0o111, 0o111);
    let verified = store.verify(VerifyOptions::default()).unwrap();
    assert_eq!((verified.objects, verified.damaged.len(), verified.restamped), (2, 0, 0));
    assert_eq!(three.report().quarantined, [], "no false alarm");
    (two.means(), placed)
}

#[test]
fn ext4_links() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.ext4();
    let used = exercise(&root.join("store"), &root, Options::default());
    assert_eq!(used, (Means::Hardlink, Placed::Linked));
}

#[test]
fn ext4_copies_when_isolation_is_asked_for() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.ext4();
    let cow = Options::default().protection(Protection::Cow);
    assert_eq!(exercise(&root.join("store"), &root, cow), (Means::Copy, Placed::Copied));
}

#[test]
fn xfs_links_and_clones_when_isolation_is_asked_for() {
    if !can_run(true, &["mkfs.xfs"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.xfs();
    let used = exercise(&root.join("store"), &root, Options::default());
    assert_eq!(used, (Means::Hardlink, Placed::Linked));
    let cow = Options::default().protection(Protection::Cow);
    let used = exercise(&root.join("isolated"), &disk.folder("disk/isolated-envs"), cow);
    assert_eq!(used, (Means::Reflink, Placed::Reflinked));
}

#[test]
fn btrfs_links_in_a_subvolume_and_clones_between_two() {
    if !can_run(true, &["mkfs.btrfs", "btrfs"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.btrfs();
    let used = exercise(&root.join("store"), &root, Options::default());
    assert_eq!(used, (Means::Hardlink, Placed::Linked));
    for name in ["one", "two"] {
        run("btrfs", &["-q", "subvolume", "create", root.join(name).to_str().unwrap()]);
    }
    let used = exercise(&root.join("one/store"), &root.join("two"), Options::default());
    assert_eq!(used, (Means::Reflink, Placed::Reflinked));
}

#[test]
fn tmpfs_links() {
    if !can_run(true, &[]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.tmpfs("64m");
    let used = exercise(&root.join("store"), &root, Options::default());
    assert_eq!(used, (Means::Hardlink, Placed::Linked));
}

#[test]
fn another_file_system_gets_copies_and_the_store_still_fills() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let (store, envs) = (disk.ext4(), disk.tmpfs("64m"));
    let used = exercise(&store.join("store"), &envs, Options::default());
    assert_eq!(used, (Means::Copy, Placed::Copied));
}

#[test]
fn two_bind_mounts_of_one_file_system_cannot_link() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.ext4();
    disk.folder("disk/envs");
    let bound = disk.mount(&["--bind", root.join("envs").to_str().unwrap()], "bound");
    let used = exercise(&root.join("store"), &bound, Options::default());
    assert_eq!(used, (Means::Copy, Placed::Copied), "st_dev is the same, link says EXDEV");
}

#[test]
fn two_bind_mounts_of_xfs_clone() {
    if !can_run(true, &["mkfs.xfs"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.xfs();
    disk.folder("disk/envs");
    let bound = disk.mount(&["--bind", root.join("envs").to_str().unwrap()], "bound");
    let used = exercise(&root.join("store"), &bound, Options::default());
    assert_eq!(used, (Means::Reflink, Placed::Reflinked));
}

#[test]
fn one_store_serves_each_mount_in_its_own_way() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let (root, memory) = (disk.ext4(), disk.tmpfs("64m"));
    let store = open(&root.join("store"), Options::default());
    let near = env(&store, &root.join("env"));
    let far = env(&store, &memory.join("env"));
    assert_eq!((near.means(), far.means()), (Means::Hardlink, Means::Copy));
    put(&near, "a", BYTES);
    assert_eq!(put(&far, "a", BYTES), Placed::Copied);
    assert_eq!(put(&near, "b", BYTES), Placed::Linked);
}

#[test]
fn a_store_in_a_lower_layer_is_copied_from_after_the_first_link() {
    if !can_run(true, &[]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.tmpfs("64m");
    let store = open(&root.join("lower/store"), Options::default());
    let one = env(&store, &root.join("lower/one"));
    for number in 0..4_u8 {
        put(&one, &number.to_string(), &[number + 1; 5000]);
    }
    drop((store, one));
    for name in ["upper", "work"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let merged = disk.mount(&["-t", "overlay", "-o", &layers, "none"], "merged");

    let store = open(&merged.join("store"), Options::default());
    let two = env(&store, &merged.join("two"));
    let placed: Vec<_> =
        (0..4_u8).map(|number| put(&two, &number.to_string(), &[number + 1; 5000])).collect();
    assert_eq!(placed, [Placed::Linked, Placed::Copied, Placed::Copied, Placed::Copied]);
    assert_eq!((two.report().copied_up, two.means()), (1, Means::Copy));
    assert_eq!(two.report().quarantined, []);
    for number in 0..4_u8 {
        let bytes = fs::read(merged.join("two").join(number.to_string())).unwrap();
        assert_eq!(bytes, [number + 1; 5000]);
    }
    assert_eq!(put(&two, "new", b"fresh"), Placed::WroteAndPublished);
}

#[test]
fn a_store_on_a_read_only_mount_is_used_as_it_is() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let (root, memory) = (disk.ext4(), disk.tmpfs("64m"));
    put(&env(&open(&root.join("store"), Options::default()), &root.join("env")), "a", BYTES);
    run("mount", &["-o", "remount,ro", root.to_str().unwrap()]);

    let options = Options::default().access(Access::ReadOnly);
    let store = open(&root.join("store"), options);
    let far = env(&store, &memory.join("env"));
    assert_eq!(put(&far, "a", BYTES), Placed::Copied);
    assert_eq!(put(&far, "b", b"other"), Placed::WrotePrivate(Why::ReadOnlyStore));
    assert_eq!(far.means(), Means::Copy, "learnt from the first file");
    assert_eq!(fs::read(memory.join("env/a")).unwrap(), BYTES);

    let store = open(&root.join("store"), Options::default());
    store.destination(memory.join("env")).expect_err("a store that must be probed is written to");
    store.sweep(SweepOptions::default()).expect_err("nothing can be removed");
}

#[test]
fn a_full_disk_is_a_clear_error_and_leaves_nothing() {
    if !can_run(true, &[]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.tmpfs("3m");
    let store = open(&root.join("store"), Options::default());
    let one = env(&store, &root.join("env"));
    put(&one, "fits", BYTES);
    let big = vec![1; 4 << 20];
    let error = one.put("big", &big, Digest::of(&big), Executable::No).unwrap_err();
    assert!(error.is_storage_full(), "{error:?}");
    assert_eq!(error.path(), Some(&*root.join("env/big")));
    assert_eq!(names(&root.join("env")), ["fits"]);
    assert_eq!(put(&one, "again", BYTES), Placed::Linked);
    assert_eq!(store.verify(VerifyOptions::default()).unwrap().damaged, []);
}

#[test]
fn a_disk_that_fills_up_while_a_tree_is_placed_leaves_whole_files_and_goes_on_later() {
    if !can_run(true, &[]) {
        return;
    }
    let (mut disk, ground) = (Disk::new(), Ground::new());
    let (root, store) = (disk.tmpfs("1m"), ground.store());
    let full = ground.env(&store, "full");
    let bytes = |number: u8| vec![number; 100_000];
    let mut tree = TreeBuilder::new();
    for number in 1..30 {
        let (name, digest) = (format!("{number:02}/file"), Digest::of(&bytes(number)));
        put(&full, &name, &bytes(number));
        tree.file(&name, digest, Executable::No, 100_000).unwrap();
    }
    let tree = tree.build().unwrap();
    let one = env(&store, &root.join("env"));
    let error = tree.place(&one).unwrap_err();
    assert!(error.is_storage_full(), "{error:?}");
    let placed = |number: &u8| root.join(format!("env/{number:02}/file")).exists();
    let whole: Vec<u8> = (1..30).filter(placed).collect();
    assert!((1..11).contains(&whole.len()), "{whole:?}");
    for number in whole {
        let path = root.join(format!("env/{number:02}/file"));
        assert!(fs::read(path).unwrap() == bytes(number), "{number} is whole");
    }
    assert_eq!(names(&root.join("env")).iter().filter(|name| name.starts_with('.')).count(), 0);
    run("mount", &["-o", "remount,size=8m", root.to_str().unwrap()]);
    assert_eq!(tree.place(&one.replacing()).unwrap().copied, 29);
    assert!((1..30).all(|n| fs::read(root.join(format!("env/{n:02}/file"))).unwrap() == bytes(n)));
}

#[test]
fn a_full_store_leaves_files_private() {
    if !can_run(true, &[]) {
        return;
    }
    let mut disk = Disk::new();
    let (root, far) = (disk.tmpfs("3m"), disk.folder("far"));
    let store = open(&root.join("store"), Options::default());
    let one = env(&store, &far);
    let big = vec![1; 4 << 20];
    let placed = one.put("big", &big, Digest::of(&big), Executable::No).unwrap();
    let full = number_of_a_full_disk();
    assert_eq!(placed, Placed::WrotePrivate(Why::Refused(full)));
    assert_eq!(fs::read(far.join("big")).unwrap(), big);
    assert_eq!(names(&root.join("store/v1/tmp")), [""; 0]);
    // A child that another test just forked may hold the removed file open until its exec.
    let published = (0..1000).any(|number| {
        std::thread::sleep(Duration::from_millis(10));
        put(&one, &format!("small{number}"), BYTES) == Placed::WroteAndPublished
    });
    assert!(published, "the store has room again");
}

/// ENOSPC.
fn number_of_a_full_disk() -> i32 {
    28
}

/// Files of one generation, with their bytes.
fn generation(name: &str) -> Vec<(String, Vec<u8>)> {
    (0..40)
        .map(|number| (format!("{name}{number}"), format!("{name} {number}\n").repeat(400).into()))
        .collect()
}

fn install(store: &Store, env: &cas_store::Destination, name: &str) {
    let mut tree = TreeBuilder::new();
    for (path, bytes) in generation(name) {
        put(env, &path, &bytes);
        tree.file(&path, Digest::of(&bytes), Executable::No, bytes.len() as u64).unwrap();
    }
    store.write_tree(name, &tree.build().unwrap()).unwrap();
}

#[test]
fn a_power_loss_loses_files_and_never_makes_them_wrong() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.ext4();
    let durable = Options::default().durability(cas_store::Durability::Durable);
    let store = open(&root.join("store"), durable);
    install(&store, &env(&store, &root.join("env")), "durable");
    let store = open(&root.join("store"), Options::default());
    install(&store, &env(&store, &root.join("env")), "fast");
    // Somebody else's sync commits the names of our files, whose bytes are still in memory.
    File::create(root.join("other")).unwrap().sync_all().unwrap();

    // What the medium holds now is what a machine without power finds.
    fs::copy(disk.path("image"), disk.path("crashed")).unwrap();
    let crashed = disk.path("crashed").to_str().unwrap().to_owned();
    let after = disk.mount(&["-o", "loop", &crashed], "after");
    let objects = after.join("store/v1/objects");
    let empty = fs::read_dir(objects)
        .unwrap()
        .flat_map(|shard| fs::read_dir(shard.unwrap().path()).unwrap())
        .filter(|object| object.as_ref().unwrap().metadata().unwrap().len() == 0)
        .count();
    assert!(empty > 0, "the loss shows as objects without bytes");

    let store = open(&after.join("store"), Options::default());
    let tree = store.tree("durable").unwrap().expect("a durable tree is there");
    assert_eq!(tree.place(&env(&store, &after.join("whole"))).unwrap().linked, 40);
    for (path, bytes) in generation("durable") {
        assert_eq!(fs::read(after.join("whole").join(path)).unwrap(), bytes);
    }
    match store.tree("fast") {
        Ok(tree) => {
            if let Err(error) = tree
                .map_or(Ok(()), |tree| tree.place(&env(&store, &after.join("partial"))).map(drop))
            {
                assert!(error.is_missing(), "{error:?}");
            }
        }
        Err(error) => assert!(error.is_corrupt(), "{error:?}"),
    }
    let again = env(&store, &after.join("again"));
    for (path, bytes) in generation("fast") {
        put(&again, &path, &bytes);
        assert_eq!(fs::read(after.join("again").join(&path)).unwrap(), bytes);
        if let Ok(found) = fs::read(after.join("partial").join(&path)) {
            assert_eq!(found, bytes, "{path} was handed out");
        }
    }
    assert_eq!(store.verify(VerifyOptions::default()).unwrap().damaged, []);
}

/// The most links that a file can have on ext4.
const EXT4_LINKS: u64 = 65_000;

#[test]
fn an_object_with_65000_links_on_ext4_is_rolled_over_and_links_go_on() {
    if !can_run(true, &["mkfs.ext4"]) {
        return;
    }
    let mut disk = Disk::new();
    let root = disk.ext4();
    let store = open(&root.join("store"), Options::default());
    let one = env(&store, &root.join("env"));
    put(&one, "first", BYTES);
    let object = store.object_path(Digest::of(BYTES), Executable::No);
    let many = disk.folder("disk/many");
    for number in links(&object)..EXT4_LINKS {
        fs::hard_link(&object, many.join(number.to_string())).unwrap();
    }
    assert_eq!(links(&object), EXT4_LINKS);

    // A copy of the object takes its name.
    assert_eq!(put(&one, "second", BYTES), Placed::Copied);
    assert_eq!(one.report().rolled_over, 1);
    assert_eq!((links(&object), inode(&object)), (2, inode(&root.join("env/second"))));
    assert_eq!(put(&one, "third", BYTES), Placed::Linked, "links go on");
    assert_eq!(links(&many.join("10000")), EXT4_LINKS - 1, "old files keep their inode");

    // From a manifest, without bytes.
    let mut tree = TreeBuilder::new();
    tree.file("file", Digest::of(BYTES), Executable::No, BYTES.len() as u64).unwrap();
    let tree = tree.build().unwrap();
    let again = disk.folder("disk/again");
    for number in links(&object)..EXT4_LINKS {
        fs::hard_link(&object, again.join(number.to_string())).unwrap();
    }
    let report = tree.place(&env(&store, &root.join("four"))).unwrap();
    assert_eq!((report.rolled_over, report.files()), (1, 1));
    assert_eq!(fs::read(root.join("four/file")).unwrap(), BYTES);
    assert_eq!(tree.place(&env(&store, &root.join("five"))).unwrap().linked, 1, "links go on");
    assert_eq!(store.verify(VerifyOptions::default()).unwrap().damaged, []);
}
