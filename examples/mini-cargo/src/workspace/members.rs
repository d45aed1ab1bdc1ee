//! Where a workspace's root is and which packages are its members, in cargo's order.
//!
//! Listed members come first, as listed and globs alphabetically, each followed by the path
//! dependencies below it; the root package comes last.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::{Manifests, normalize, parent};
use crate::manifest::{Manifest, WorkspaceTable};

/// The manifest that holds the `[workspace]` table which `manifest` belongs to, or itself.
pub(super) fn find_root(
    manifest: &Path,
    cargo_home: &Path,
    manifests: &mut Manifests,
) -> Result<PathBuf> {
    if let Some(root) = claims(manifest, manifest, manifests)? {
        return Ok(root);
    }
    let dirs = parent(manifest).ancestors().skip(1);
    for dir in dirs.take_while(|dir| *dir != cargo_home && !dir.ends_with("target/package")) {
        let above = dir.join("Cargo.toml");
        if above.is_file()
            && let Some(root) = claims(&above, manifest, manifests)?
        {
            return Ok(root);
        }
    }
    Ok(manifest.to_owned())
}

/// The root that the manifest at `path` names for `member`: itself, another one, or none.
fn claims(path: &Path, member: &Path, manifests: &mut Manifests) -> Result<Option<PathBuf>> {
    let loaded = manifests.load(path)?;
    if let Some(table) = &loaded.manifest.workspace {
        return Ok((!excludes(table, parent(path), member)).then(|| path.to_owned()));
    }
    let pointer = loaded.manifest.package.as_ref().and_then(|package| package.workspace.as_ref());
    Ok(pointer.map(|to| normalize(&parent(path).join(to).join("Cargo.toml"))))
}

fn excludes(table: &WorkspaceTable, root: &Path, manifest: &Path) -> bool {
    let within = |list: &[String]| list.iter().any(|dir| manifest.starts_with(root.join(dir)));
    within(&table.exclude) && !within(table.members.as_deref().unwrap_or_default())
}

/// The manifests of all members of the workspace at `root`, to which `current` must belong.
pub(super) fn find(root: &Path, current: &Path, manifests: &mut Manifests) -> Result<Vec<PathBuf>> {
    let loaded = manifests.load(root)?;
    let Some(table) = &loaded.manifest.workspace else { return Ok(vec![root.to_owned()]) };
    let mut walk = Walk { root, table, manifests, members: Vec::new() };
    for dir in listed(parent(root), table)? {
        let member = dir.join("Cargo.toml");
        walk.visit(&member, false).with_context(|| {
            format!(
                "failed to load manifest for workspace member `{}`\nreferenced by workspace at `{}`",
                dir.display(),
                root.display()
            )
        })?;
    }
    walk.visit(root, false)?;
    let members = walk.members;
    if current != root && !members.iter().any(|member| member == current) {
        bail!(
            "current package believes it's in a workspace when it's not:\n\
             current:   {}\nworkspace: {}",
            current.display(),
            root.display()
        );
    }
    packages(members, manifests)
}

/// A root without `[package]` is where the members are listed, not one of them.
fn packages(paths: Vec<PathBuf>, manifests: &mut Manifests) -> Result<Vec<PathBuf>> {
    let mut packages = Vec::new();
    for path in paths {
        if manifests.load(&path)?.manifest.package.is_some() {
            packages.push(path);
        }
    }
    Ok(packages)
}

fn listed(root: &Path, table: &WorkspaceTable) -> Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for pattern in table.members.iter().flatten() {
        let plain = root.join(pattern);
        let found = expand(&plain)?;
        if found.is_empty() {
            dirs.push(plain);
        } else {
            dirs.extend(found.into_iter().filter(|path| path.is_dir()));
        }
    }
    Ok(dirs)
}

fn expand(pattern: &Path) -> Result<Vec<PathBuf>> {
    let Some(text) = pattern.to_str() else { return Ok(Vec::new()) };
    let paths = glob::glob(text).with_context(|| format!("could not parse pattern `{text}`"))?;
    paths
        .map(|path| path.with_context(|| format!("unable to match path to pattern `{text}`")))
        .collect()
}

/// Collects members depth first.
struct Walk<'a> {
    root: &'a Path,
    table: &'a WorkspaceTable,
    manifests: &'a mut Manifests,
    members: Vec<PathBuf>,
}

impl Walk<'_> {
    fn visit(&mut self, manifest: &Path, through_dependency: bool) -> Result<()> {
        let manifest = normalize(manifest);
        if self.members.contains(&manifest) || self.is_foreign(&manifest, through_dependency)? {
            return Ok(());
        }
        if excludes(self.table, parent(self.root), &manifest) {
            return Ok(());
        }
        let loaded = self.manifests.load(&manifest)?;
        self.members.push(manifest.clone());
        for dir in path_dependencies(&loaded.manifest, parent(&manifest), self.table, self.root) {
            self.visit(&dir.join("Cargo.toml"), true).with_context(|| {
                format!("failed to load manifest for dependency `{}`", dir.display())
            })?;
        }
        Ok(())
    }

    /// A path dependency outside the root's folder is a member only if it says so itself.
    fn is_foreign(&mut self, manifest: &Path, through_dependency: bool) -> Result<bool> {
        if !through_dependency || manifest.starts_with(parent(self.root)) {
            return Ok(false);
        }
        Ok(find_root(manifest, Path::new(""), self.manifests)? != self.root)
    }
}

/// The folders that a manifest's tables point to, in the order of the tables.
fn path_dependencies(
    manifest: &Manifest,
    own: &Path,
    table: &WorkspaceTable,
    root: &Path,
) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for (key, line) in manifest.tables().into_iter().flat_map(|(deps, ..)| deps) {
        let (line, base) = match table.dependencies.get(key) {
            Some(shared) if line.get_ref().inherits() => (shared.get_ref(), parent(root)),
            _ => (line.get_ref(), own),
        };
        let path = line.clone().into_detailed().path;
        dirs.extend(path.map(|path| normalize(&base.join(path))));
    }
    dirs
}
