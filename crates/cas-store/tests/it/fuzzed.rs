//! What the fuzz target runs on any bytes; `fuzz/` includes this file, and `corpus.rs` replays it.

use cas_store::{Digest, Options, Store, TreeBuilder};
use std::fs;
use std::path::{Path, PathBuf};

const KEY: &str = "key";

thread_local! {
    /// Made once, because making a store takes much longer than reading a manifest.
    static GROUND: (tempfile::TempDir, Store, PathBuf) = {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path(), Options::default()).expect("a store");
        let path = path_of_the_only_manifest(&store);
        (folder, store, path)
    };
}

/// A manifest is refused, or says the same when it is written again: one tree has one spelling.
///
/// The line with the checksum is added here, or no mutation would get past it.
pub(crate) fn manifest(data: &[u8]) {
    GROUND.with(|(_, store, path)| written_again(store, path, data));
}

fn written_again(store: &Store, path: &Path, data: &[u8]) {
    let mut sealed = data.to_vec();
    sealed.extend_from_slice(format!("end {}\n", Digest::of(data)).as_bytes());
    fs::write(path, &sealed).expect("a file");
    if let Ok(Some(tree)) = store.tree(KEY) {
        store.write_tree(KEY, &tree).expect("what was read can be written");
        assert_eq!(fs::read(path).expect("a manifest"), sealed);
    }
    drop(store.trees());
}

fn path_of_the_only_manifest(store: &Store) -> PathBuf {
    let empty = TreeBuilder::new().build().expect("an empty tree");
    store.write_tree(KEY, &empty).expect("a manifest");
    let trees = store.path().join("trees");
    let mut entries = fs::read_dir(trees).expect("the folder that LAYOUT.md names");
    entries.next().expect("a manifest").expect("a name").path()
}
