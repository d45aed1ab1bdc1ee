//! One project with its lock file: read, resolved, written.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use semver::Version;

use crate::catalog::Catalog;
use crate::lock::{self, Format, Id, Lock, Locked};
use crate::resolve::{self, Resolved};
use crate::rust_version::RustVersion;
use crate::summary::Source;
use crate::workspace::Workspace;

/// The lock file on disk, as text and as what it means.
#[derive(Debug)]
pub(crate) struct Earlier {
    pub(crate) text: String,
    pub(crate) lock: Lock,
}

/// Reads `Cargo.lock`; `None` when there is none.
pub(crate) fn read_lock(workspace: &Workspace) -> Result<Option<Earlier>> {
    let path = workspace.lock_path();
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.with_context(|| format!("failed to read file: {}", path.display()))?,
    };
    let lock = lock::parse(&text, |name, version| on_disk(workspace, name, version))
        .with_context(|| format!("failed to parse lock file at: {}", path.display()))?;
    Ok(Some(Earlier { text, lock }))
}

/// The folder of the package that a lock file means by a name without a source.
fn on_disk(workspace: &Workspace, name: &str, version: &Version) -> Option<Source> {
    let known = workspace.folders.iter().filter_map(|folder| folder.summary.as_ref().ok());
    let same: Vec<_> = known.filter(|summary| summary.name.as_str() == name).collect();
    match &same[..] {
        [only] => Some(only.source),
        several => {
            several.iter().find(|summary| summary.version == *version).map(|summary| summary.source)
        }
    }
}

/// Resolves what `catalog` knows into a lock.
pub(crate) fn resolve(catalog: &Catalog<'_>) -> Result<(Lock, Resolved)> {
    let resolved = resolve::resolve(catalog)?;
    let lock = to_lock(catalog, &resolved)?;
    Ok((lock, resolved))
}

fn to_lock(catalog: &Catalog<'_>, resolved: &Resolved) -> Result<Lock> {
    let workspace = catalog.workspace();
    let mut chosen = Vec::with_capacity(resolved.graph.len());
    for id in resolved.graph.keys() {
        let package = catalog.package(*id);
        let (name, version, source) = (package.name, package.version.clone(), package.source);
        chosen.push((Id { name, version, source }, *id));
    }
    chosen.sort();
    let places: HashMap<_, _> = chosen.iter().enumerate().map(|(at, (_, id))| (*id, at)).collect();
    let mut packages = Vec::with_capacity(chosen.len());
    for (id, package) in &chosen {
        let edges = &resolved.graph[package];
        let mut dependencies: Vec<_> = edges.iter().map(|edge| places[&edge.to]).collect();
        dependencies.sort_unstable();
        dependencies.dedup();
        let checksum = catalog.summary(*package)?.checksum.clone();
        packages.push(Locked { id: id.clone(), checksum, dependencies });
    }
    let format = Format::for_toolchain(workspace.lowest_rust_version());
    let unused = unused_patches(workspace, &packages);
    Ok(Lock { format, packages, unused, metadata: String::new() })
}

fn unused_patches(workspace: &Workspace, packages: &[Locked]) -> Vec<Id> {
    let patches = workspace.patches.iter().filter_map(|patch| workspace.summary(patch.folder));
    let mut unused: Vec<_> = patches
        .map(|summary| Id {
            name: summary.name,
            version: summary.version.clone(),
            source: summary.source,
        })
        .filter(|id| !packages.iter().any(|package| package.id == *id))
        .collect();
    unused.sort();
    unused.dedup();
    unused
}

/// A version that stays must stay the same archive: whoever answers for the registry now may be
/// another than the one that was trusted.
///
/// # Errors
/// When a checksum is another one or is gone.
pub(crate) fn check_archives(earlier: &Lock, later: &Lock) -> Result<()> {
    let known: HashMap<_, _> = earlier.registry().map(|p| (&p.id, p.checksum.as_ref())).collect();
    for package in later.registry() {
        let Some(Some(before)) = known.get(&package.id) else { continue };
        let name = format!("{} v{}", package.id.name, package.id.version);
        match &package.checksum {
            Some(now) if now == *before => {}
            Some(_) => bail!(
                "checksum for `{name}` changed between lock files\n\n\
                 this could be indicative of a few possible errors:\n\n    \
                 * the lock file is corrupt\n    \
                 * a replacement source in use (e.g., a mirror) returned a different checksum\n    \
                 * the source itself may be corrupt in one way or another\n\n\
                 unable to verify that `{name}` is the same as when the lockfile was generated"
            ),
            None => bail!(
                "checksum for `{name}` could not be calculated, but a checksum is listed in the \
                 existing lock file\n\n\
                 unable to verify that `{name}` is the same as when the lockfile was generated"
            ),
        }
    }
    Ok(())
}

/// Writes what became of an earlier lock, in its format as long as nothing else changes.
///
/// # Errors
/// As [`write_lock`].
pub(crate) fn rewrite_lock(
    workspace: &Workspace,
    earlier: &Earlier,
    lock: &Lock,
    locked_flag: Option<&str>,
) -> Result<()> {
    let format = earlier.lock.format;
    let metadata = earlier.lock.metadata.clone();
    let lock = &Lock { metadata, ..lock.clone() };
    let same = Lock { format, ..lock.clone() }.to_text(Some(&earlier.text));
    if same.is_ok_and(|text| text.lines().eq(earlier.text.lines())) {
        return Ok(());
    }
    let newer = Lock { format: lock.format.max(format), ..lock.clone() };
    write_lock(workspace, Some(&earlier.text), &newer, locked_flag)
}

/// Writes the lock file when it changes; a file is never seen half written.
///
/// # Errors
/// When it would change although `--locked` (or `--frozen`) was given.
pub(crate) fn write_lock(
    workspace: &Workspace,
    earlier: Option<&str>,
    lock: &Lock,
    locked_flag: Option<&str>,
) -> Result<()> {
    let text = lock.to_text(earlier)?;
    if earlier.is_some_and(|earlier| earlier.lines().eq(text.lines())) {
        return Ok(());
    }
    let path = workspace.lock_path();
    if let Some(flag) = locked_flag {
        // Another way to write the same is not worth a refusal.
        if earlier.is_some_and(|text| means_the_same(workspace, text, lock)) {
            return Ok(());
        }
        let action = if earlier.is_some() { "update" } else { "create" };
        bail!(
            "cannot {action} the lock file {} because {flag} was passed to prevent this\n\
             help: to generate the lock file without accessing the network, \
             remove the {flag} flag and use --offline instead.",
            path.display()
        );
    }
    replace(&path, text.as_bytes()).with_context(|| format!("failed to write {}", path.display()))
}

fn means_the_same(workspace: &Workspace, text: &str, lock: &Lock) -> bool {
    let earlier = lock::parse(text, |name, version| on_disk(workspace, name, version));
    earlier.is_ok_and(|earlier| earlier.packages == lock.packages && earlier.unused == lock.unused)
}

/// Replaces a file whole, through a temporary one beside it.
pub(crate) fn replace(path: &std::path::Path, bytes: &[u8]) -> Result<()> {
    let temporary = beside(path);
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    Ok(written?)
}

fn beside(path: &std::path::Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// The version of the compiler that cargo would use.
pub(crate) fn installed_rust() -> Result<RustVersion> {
    let text = ask_compiler(&["-V"])?;
    let version = text.split_whitespace().nth(1).and_then(|text| Version::parse(text).ok());
    let version = version.with_context(|| format!("unexpected output of rustc: `{text}`"))?;
    Ok(RustVersion::from(&version))
}

/// What the compiler that cargo would use answers to `args`.
pub(crate) fn ask_compiler(args: &[&str]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc).args(args).output().with_context(|| {
        format!("failed to run `{}`\nhelp: install a compiler, or set RUSTC", rustc.display())
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
