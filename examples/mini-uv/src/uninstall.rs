//! Takes an installed package out of an environment, by its RECORD and nothing else.
//!
//! A RECORD is a file that anyone may have written, so a path that leads outside the environment's
//! folders is refused before anything is touched. Byte code that Python made beside the sources goes
//! too, and folders that are left empty. Files are moved into the transaction, not deleted: an
//! upgrade that fails later puts them back.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::environment::{self, Roots};
use crate::fault::Advise;
use crate::installed::Installed;
use crate::transaction::Transaction;

/// Removes `package` within `transaction` and returns how many files went.
pub(crate) fn remove(
    package: &Installed,
    roots: &Roots,
    transaction: &mut Transaction,
) -> anyhow::Result<u64> {
    let files = files(package, roots)
        .with_context(|| format!("failed to uninstall {} {}", package.name, package.version))?;
    let mut removed = 0;
    let mut folders = BTreeSet::new();
    let mut caches = HashMap::new();
    for file in &files {
        if file.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            transaction.remove(file)?;
            removed += 1;
        }
        removed += remove_bytecode(file, transaction, &mut caches)?;
        folders.extend(file.parent().map(Path::to_owned));
    }
    prune(folders, roots, transaction)?;
    Ok(removed)
}

/// The files that RECORD lists, each inside one of the environment's folders.
fn files(package: &Installed, roots: &Roots) -> anyhow::Result<Vec<PathBuf>> {
    let rows = package.record().hint(
        "without its RECORD a package cannot be removed safely: reinstall it with the tool that installed it",
    )?;
    let site = package.site();
    rows.iter().map(|row| inside(roots, environment::resolve(site, &row.path)?)).collect()
}

fn inside(roots: &Roots, path: PathBuf) -> anyhow::Result<PathBuf> {
    if roots.all().iter().any(|root| path.starts_with(root) && path != **root) {
        return Ok(path);
    }
    bail!("its RECORD lists `{}`, which is outside the environment", path.display())
}

/// Removes `__pycache__/name.*.pyc` of one source file.
fn remove_bytecode(
    source: &Path,
    transaction: &mut Transaction,
    caches: &mut HashMap<PathBuf, Vec<PathBuf>>,
) -> anyhow::Result<u64> {
    let (Some("py"), Some(stem), Some(dir)) = (
        source.extension().and_then(|extension| extension.to_str()),
        source.file_stem().and_then(|stem| stem.to_str()),
        source.parent(),
    ) else {
        return Ok(0);
    };
    let cache = dir.join("__pycache__");
    let compiled = caches.entry(cache.clone()).or_insert_with(|| list(&cache));
    let prefix = format!("{stem}.");
    let mut removed = 0;
    for file in compiled.iter().filter(|file| is_compiled(file, &prefix)) {
        transaction.remove(file)?;
        removed += 1;
    }
    transaction.remove_empty(&cache)?;
    Ok(removed)
}

fn is_compiled(file: &Path, prefix: &str) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(".pyc"))
        .is_some_and(|tag| !tag.is_empty())
}

fn list(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default()
}

/// Removes folders that are empty now, deepest first, up to the scheme's own folders.
fn prune(
    folders: BTreeSet<PathBuf>,
    roots: &Roots,
    transaction: &mut Transaction,
) -> anyhow::Result<()> {
    for folder in folders.into_iter().rev() {
        let mut next = Some(&*folder);
        while let Some(dir) = next.filter(|dir| is_prunable(dir, roots)) {
            transaction.remove_empty(&dir.join("__pycache__"))?;
            if !transaction.remove_empty(dir)? && dir.exists() {
                break;
            }
            next = dir.parent();
        }
    }
    Ok(())
}

/// True below one of the scheme's folders, but not for a folder that leads to another one.
fn is_prunable(dir: &Path, roots: &Roots) -> bool {
    let roots = roots.all();
    roots.iter().any(|root| dir.starts_with(root))
        && !roots.iter().any(|root| root.starts_with(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn roots(prefix: &Path) -> Roots {
        let site = prefix.join("lib/site-packages");
        Roots {
            purelib: site.clone(),
            platlib: site,
            scripts: prefix.join("bin"),
            data: prefix.to_owned(),
            include: prefix.join("include"),
        }
    }

    fn package(prefix: &Path, record: &str) -> Installed {
        let dist_info = prefix.join("lib/site-packages/a-1.dist-info");
        write(&dist_info.join("RECORD"), record);
        Installed { name: "a".parse().unwrap(), version: "1".parse().unwrap(), dist_info }
    }

    #[test]
    fn sources_byte_code_scripts_and_empty_folders_go_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join("lib/site-packages");
        write(&site.join("a/m.py"), "");
        write(&site.join("a/__pycache__/m.cpython-312.pyc"), "");
        write(&site.join("ns/mine.py"), "");
        write(&site.join("ns/theirs.py"), "");
        write(&dir.path().join("bin/a"), "");
        let package = package(
            dir.path(),
            "a/m.py,,\nns/mine.py,,\n../../bin/a,,\na-1.dist-info/RECORD,,\nnever/was.py,,\n",
        );
        let mut transaction = Transaction::begin(&site).unwrap();
        assert_eq!(remove(&package, &roots(dir.path()), &mut transaction).unwrap(), 5);
        transaction.commit().unwrap();
        assert!(!site.join("a").exists() && !dir.path().join("bin/a").exists());
        assert!(!site.join("a-1.dist-info").exists());
        assert!(site.join("ns/theirs.py").exists() && dir.path().join("bin").exists());
    }

    #[test]
    fn a_record_that_leads_outside_is_refused_before_anything_is_touched() {
        let outer = tempfile::tempdir().unwrap();
        let prefix = outer.path().join("env");
        let site = prefix.join("lib/site-packages");
        write(&site.join("a.py"), "");
        write(&outer.path().join("precious"), "");
        for evil in ["../../../precious", "/etc/passwd"] {
            let package = package(&prefix, &format!("a.py,,\n{evil},,\n"));
            let mut transaction = Transaction::begin(&site).unwrap();
            let error = remove(&package, &roots(&prefix), &mut transaction).unwrap_err();
            assert!(format!("{error:#}").contains("outside the environment"), "{error:#}");
            drop(transaction);
            assert!(site.join("a.py").exists() && outer.path().join("precious").exists());
        }
    }
}
