//! The replacement for cargo's `CacheManager`, compiled against stand-ins with cargo's signatures and
//! called as cargo's registry index calls it.

use crate::basics::folder;
use shim::CacheManager;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// What `cargo::util` has under these names, as far as the shim needs it.
mod cargo {
    use super::{Path, PathBuf, RefCell};

    #[derive(Clone)]
    pub(super) struct Filesystem(pub(super) PathBuf);

    impl Filesystem {
        pub(super) fn join(&self, other: impl AsRef<Path>) -> Self {
            Self(self.0.join(other))
        }

        pub(super) fn into_path_unlocked(self) -> PathBuf {
            self.0
        }
    }

    #[derive(Default)]
    pub(super) struct GlobalContext(pub(super) RefCell<Vec<String>>);

    impl GlobalContext {
        pub(super) fn shell(&self) -> std::cell::RefMut<'_, dyn Shell> {
            self.0.borrow_mut()
        }
    }

    pub(super) trait Shell {
        fn warn(&mut self, message: String) -> Result<(), ()>;
    }

    impl Shell for Vec<String> {
        fn warn(&mut self, message: String) -> Result<(), ()> {
            self.push(message);
            Ok(())
        }
    }
}

#[expect(
    unreachable_pub,
    clippy::default_trait_access,
    clippy::needless_pass_by_value,
    clippy::redundant_closure_for_method_calls,
    reason = "as it stands in cargo's source"
)]
mod shim {
    use super::cargo::{Filesystem, GlobalContext};
    use std::cell::RefCell;

    include!("../../docs/cargo_shim.rs");
}

/// A registry's answer to a conditional request, as in cargo's `LoadResponse`.
enum Load {
    CacheValid,
    NotFound,
    Data(Vec<u8>),
}

/// What `Summaries::parse` does with the manager: one `get`, and after the answer at most one write.
fn parse(
    manager: &CacheManager<'_>,
    name: &str,
    load: impl FnOnce(Option<&[u8]>) -> Load,
) -> Option<Vec<u8>> {
    let cached = manager.get(name);
    match load(cached.as_deref()) {
        Load::CacheValid => cached,
        Load::NotFound => {
            manager.invalidate(name);
            None
        }
        Load::Data(bytes) => {
            manager.put(name, &bytes);
            Some(bytes)
        }
    }
}

fn document(name: &str, version: &str) -> Vec<u8> {
    format!("\u{3}\u{2}\0\0\0etag: {version}\0{version}\0{{\"name\":\"{name}\"}}\0").into_bytes()
}

#[test]
fn runs_of_cargo_store_find_and_invalidate_through_the_shim() {
    let folder = folder();
    let root = cargo::Filesystem(folder.path().join(".cache"));
    let context = cargo::GlobalContext::default();
    let run = || CacheManager::new(root.clone(), &context);
    let fresh = |_: Option<&[u8]>| Load::Data(document("serde", "1.0.0"));
    assert_eq!(parse(&run(), "serde", fresh), Some(document("serde", "1.0.0")));
    parse(&run(), "gone", |cached| {
        assert_eq!(cached, None);
        Load::Data(document("gone", "1.0.0"))
    });
    // The next run has it, and the server says that it is fresh.
    let manager = run();
    let valid = parse(&manager, "serde", |cached| {
        assert_eq!(cached, Some(&document("serde", "1.0.0")[..]));
        Load::CacheValid
    });
    assert_eq!(valid, Some(document("serde", "1.0.0")));
    assert_eq!(parse(&manager, "gone", |_| Load::NotFound), None);
    assert_eq!(manager.get("gone"), None, "seen by the run that removed it");
    drop(manager);
    assert_eq!(run().get("gone"), None);
    assert_eq!(run().get("serde"), Some(document("serde", "1.0.0")));
    assert!(context.0.borrow().is_empty(), "nothing to warn about");
    let files = std::fs::read_dir(folder.path().join(".cache")).unwrap().count();
    assert_eq!(files, 2, "one file and its lock");
}

#[test]
fn a_run_that_stores_nothing_makes_no_file() {
    let folder = folder();
    let root = cargo::Filesystem(folder.path().join(".cache"));
    let context = cargo::GlobalContext::default();
    drop(CacheManager::new(root.clone(), &context));
    let manager = CacheManager::new(root.clone(), &context);
    assert_eq!(parse(&manager, "gone", |_| Load::NotFound), None);
    drop(manager);
    assert!(!root.0.exists(), "cargo opens the caches of registries that it does not use");
}

#[test]
#[cfg(unix)] // It compacts a file that is open, which Wine refuses.
fn answers_that_are_stored_again_do_not_let_the_file_grow() {
    let folder = folder();
    let root = cargo::Filesystem(folder.path().join(".cache"));
    let context = cargo::GlobalContext::default();
    let stored = |version: &str| {
        let manager = CacheManager::new(root.clone(), &context);
        for name in ["serde", "syn"] {
            manager.put(name, &[document(name, version), vec![b'x'; 2 << 20]].concat());
        }
        drop(manager);
        std::fs::metadata(root.0.join(index_cache::FILE_NAME)).unwrap().len()
    };
    let first = stored("1.0.0");
    assert_eq!(stored("1.0.0"), first, "the same answer");
    let sizes: Vec<_> = (1..12).map(|run| stored(&format!("1.0.{run}"))).collect();
    assert!(sizes.iter().all(|size| *size < 4 * first), "{sizes:?}");
    assert!(sizes.windows(2).any(|pair| pair[1] < pair[0]), "never compacted: {sizes:?}");
    assert!(context.0.borrow().is_empty());
}

#[test]
fn a_cache_that_cannot_be_written_warns_once_and_does_no_harm() {
    let folder = folder();
    let root = cargo::Filesystem(folder.path().join("file"));
    std::fs::write(&root.0, "in the way of a folder").unwrap();
    let context = cargo::GlobalContext::default();
    for name in ["serde", "syn"] {
        let manager = CacheManager::new(root.clone(), &context);
        let data = |_: Option<&[u8]>| Load::Data(document(name, "1.0.0"));
        assert!(parse(&manager, name, data).is_some());
        manager.put("more", b"than one");
    }
    let warnings = context.0.borrow();
    assert_eq!(warnings.len(), 2, "one for each manager: {warnings:?}");
    assert!(warnings[0].starts_with("failed to write the index cache: "), "{warnings:?}");
}

#[test]
fn the_shim_has_as_many_lines_as_the_readme_says() {
    let shim = include_str!("../../docs/cargo_shim.rs");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = shim.lines().filter(is_code).count();
    assert!(include_str!("../../README.md").contains(&format!("put the {lines} lines of")));
    assert!(lines < 45);
}
