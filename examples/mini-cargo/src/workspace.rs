//! From one `Cargo.toml` to everything that is locked together with it.
//!
//! Finds the workspace's root, its members in cargo's order (which decides ties in the search for
//! versions), the path dependencies outside of it and the `[patch]` entries, and turns each
//! manifest into a [`Summary`] with what it inherits filled in.
//!
//! Absent: git dependencies, other registries, `[replace]` and artifact dependencies are refused
//! with the line on which they stand; `paths` overrides in cargo's configuration are not read.

mod inherit;
mod members;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr as _;

use anyhow::{Context as _, Result, anyhow, bail};
use semver::{Version, VersionReq};

use crate::config_patch::ConfigPatch;
use crate::manifest::{Detailed, Manifest, line_of};
use crate::name::Name;
use crate::rust_version::RustVersion;
use crate::summary::{Dep, Kind, Req, Source, Summary, checked_feature_map};

/// The manifests that are locked together.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Each folder with a package, members first; [`Source::Path`] is a number in here.
    pub(crate) folders: Vec<Folder>,
    /// In the order in which cargo resolves them.
    pub(crate) members: Vec<u32>,
    /// Packages on disk that stand in for registry ones.
    pub(crate) patches: Vec<Patch>,
    honors_rust_version: bool,
}

/// A folder that some manifest points to.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) dir: PathBuf,
    /// An error is kept until the package is asked for: an unused path may dangle.
    pub(crate) summary: Result<Summary, String>,
}

/// One line of `[patch.crates-io]`: the folder that it points to.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) folder: u32,
}

/// A manifest and its text, read once.
#[derive(Debug)]
struct Loaded {
    text: String,
    manifest: Manifest,
}

/// Every manifest that was read, by its path.
#[derive(Debug, Default)]
struct Manifests(HashMap<PathBuf, Rc<Loaded>>);

impl Manifests {
    fn load(&mut self, path: &Path) -> Result<Rc<Loaded>> {
        if let Some(known) = self.0.get(path) {
            return Ok(Rc::clone(known));
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read `{}`", path.display()))?;
        let manifest = toml::from_str(&text)
            .map_err(|error| anyhow!("{}", error.to_string().trim_end()))
            .with_context(|| format!("failed to parse manifest at `{}`", path.display()))?;
        let loaded = Rc::new(Loaded { text, manifest });
        self.0.insert(path.to_owned(), Rc::clone(&loaded));
        Ok(loaded)
    }
}

impl Workspace {
    /// Reads `manifest` and everything that is locked with it.
    ///
    /// `configured` are the patches of cargo's configuration.
    pub(crate) fn load(
        manifest: &Path,
        cargo_home: &Path,
        configured: &[ConfigPatch],
    ) -> Result<Self> {
        let manifest = normalize(&std::path::absolute(manifest)?);
        let mut manifests = Manifests::default();
        let root = members::find_root(&manifest, cargo_home, &mut manifests)?;
        let listed = members::find(&root, &manifest, &mut manifests)?;
        let mut reader = Reader::new(&root, manifests)?;
        refuse_optional(&root, &reader.root)?;
        let members = listed.iter().map(|path| reader.member(path)).collect::<Result<Vec<_>>>()?;
        refuse_namesakes(&reader, &members)?;
        let (patches, wanted) = reader.patches(configured)?;
        reader.follow_paths();
        check_patches(&reader, &patches, &wanted)?;
        let honors_rust_version = reader.honors_rust_version()?;
        let root = parent(&root).to_owned();
        Ok(Self { root, folders: reader.folders, members, patches, honors_rust_version })
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.root.join("Cargo.lock")
    }

    /// The members, for whom dev-dependencies and every feature are locked too.
    pub(crate) fn member_summaries(&self) -> impl Iterator<Item = &Summary> {
        self.members.iter().filter_map(|at| self.summary(*at))
    }

    pub(crate) fn summary(&self, folder: u32) -> Option<&Summary> {
        self.folders.get(folder as usize)?.summary.as_ref().ok()
    }

    /// The oldest toolchain that a member asks for: it decides the lock file's version.
    pub(crate) fn lowest_rust_version(&self) -> Option<RustVersion> {
        self.member_summaries().filter_map(|summary| summary.rust_version).min()
    }

    /// The toolchains that versions should suit, when the resolver is to care (`resolver = "3"`).
    ///
    /// `installed` is asked only when it is needed: it runs a compiler.
    pub(crate) fn rust_versions(
        &self,
        configured: Option<bool>,
        installed: impl FnOnce() -> Result<RustVersion>,
    ) -> Result<Vec<RustVersion>> {
        if !configured.unwrap_or(self.honors_rust_version) {
            return Ok(Vec::new());
        }
        let asked: Vec<_> = self.member_summaries().filter_map(|s| s.rust_version).collect();
        if asked.is_empty() { Ok(vec![installed()?]) } else { Ok(asked) }
    }
}

/// Turns manifests into summaries, numbering folders as it meets them.
#[derive(Debug)]
struct Reader {
    manifests: Manifests,
    root_path: PathBuf,
    root: Rc<Loaded>,
    folders: Vec<Folder>,
    numbers: HashMap<PathBuf, u32>,
}

impl Reader {
    fn new(root_path: &Path, mut manifests: Manifests) -> Result<Self> {
        let root = manifests.load(root_path)?;
        let (folders, numbers) = (Vec::new(), HashMap::new());
        Ok(Self { manifests, root_path: root_path.to_owned(), root, folders, numbers })
    }

    /// The number of a member's folder; a member that cannot be read is an error at once.
    fn member(&mut self, manifest: &Path) -> Result<u32> {
        let number = self.folder(parent(manifest));
        let summary = self.read(manifest, number, &Rc::clone(&self.root), true)?;
        self.folders[number as usize].summary = Ok(summary);
        Ok(number)
    }

    fn folder(&mut self, dir: &Path) -> u32 {
        if let Some(known) = self.numbers.get(dir) {
            return *known;
        }
        let number = u32::try_from(self.folders.len()).unwrap_or(u32::MAX);
        self.folders.push(Folder { dir: dir.to_owned(), summary: Err(String::new()) });
        self.numbers.insert(dir.to_owned(), number);
        number
    }

    /// Reads the folders that other manifests point to, until no new one turns up.
    fn follow_paths(&mut self) {
        let mut at = 0;
        while let Some(folder) = self.folders.get(at) {
            if matches!(&folder.summary, Err(unread) if unread.is_empty()) {
                let manifest = folder.dir.join("Cargo.toml");
                let number = u32::try_from(at).unwrap_or(u32::MAX);
                let read = self.outside(&manifest, number);
                self.folders[at].summary = read.map_err(|error| format!("{error:#}"));
            }
            at += 1;
        }
    }

    /// A package that is no member may belong to another workspace and inherit from there.
    fn outside(&mut self, manifest: &Path, number: u32) -> Result<Summary> {
        let root = members::find_root(manifest, Path::new(""), &mut self.manifests)?;
        let root = self.manifests.load(&root)?;
        self.read(manifest, number, &root, false)
    }

    fn read(
        &mut self,
        path: &Path,
        number: u32,
        root: &Rc<Loaded>,
        member: bool,
    ) -> Result<Summary> {
        let loaded = self.manifests.load(path)?;
        let inherit = inherit::Inherit::new(&loaded, root, self.root_dir(root))
            .with_context(|| format!("failed to parse manifest at `{}`", path.display()))?;
        let deps = self.deps(path, &loaded, &inherit, member)?;
        for name in loaded.manifest.features.keys() {
            check_feature_name(name)
                .with_context(|| format!("failed to parse manifest at `{}`", path.display()))?;
        }
        let features = loaded.manifest.features.iter();
        let features = features.map(|(k, v)| (k.as_str(), v.iter().map(String::as_str).collect()));
        let features = checked_feature_map(features, &deps)
            .with_context(|| format!("failed to parse manifest at `{}`", path.display()))?;
        Ok(Summary {
            name: Name::new(inherit.name()),
            version: inherit.version()?,
            source: Source::Path(number),
            deps,
            features,
            links: inherit.links().map(Name::new),
            rust_version: inherit.rust_version()?,
            checksum: None,
        })
    }

    fn root_dir(&self, root: &Rc<Loaded>) -> PathBuf {
        if Rc::ptr_eq(root, &self.root) {
            return parent(&self.root_path).to_owned();
        }
        let found = self.manifests.0.iter().find(|(_, loaded)| Rc::ptr_eq(loaded, root));
        found.map(|(path, _)| parent(path).to_owned()).unwrap_or_default()
    }

    fn deps(
        &mut self,
        path: &Path,
        loaded: &Loaded,
        inherit: &inherit::Inherit<'_>,
        member: bool,
    ) -> Result<Vec<Rc<Dep>>> {
        let mut deps = Vec::new();
        for (table, kind, target) in loaded.manifest.tables() {
            // Nobody but a member has its dev-dependencies resolved, and they may dangle.
            if kind == Kind::Dev && !member {
                continue;
            }
            check_target(target)
                .with_context(|| format!("failed to parse manifest at `{}`", path.display()))?;
            for (key, line) in table {
                let at = line_of(&loaded.text, line.span().start);
                let dep = inherit.dependency(key, line.get_ref(), parent(path)).and_then(
                    |(detailed, base)| self.dep(key, &detailed, &base, kind, target.map(Name::new)),
                );
                deps.push(Rc::new(dep.with_context(|| format!("{}:{at}", path.display()))?));
            }
        }
        Ok(deps)
    }

    fn dep(
        &mut self,
        key: &str,
        detailed: &Detailed,
        base: &Path,
        kind: Kind,
        target: Option<Name>,
    ) -> Result<Dep> {
        refuse_unsupported(key, detailed)?;
        if kind == Kind::Dev && detailed.optional == Some(true) {
            bail!("dev-dependencies are not allowed to be optional: `{key}`");
        }
        check_features(key, &detailed.features)?;
        let source = match &detailed.path {
            Some(path) => Source::Path(self.folder(&normalize(&base.join(path)))),
            None => Source::Registry,
        };
        Ok(Dep {
            name: Name::new(detailed.package.as_deref().unwrap_or(key)),
            key: Name::new(key),
            req: requirement(key, detailed)?,
            source,
            kind,
            optional: detailed.optional.unwrap_or(false),
            default_features: detailed.default_features.unwrap_or(true),
            features: detailed.features.iter().map(|name| Name::new(name)).collect(),
            target,
        })
    }

    /// Those of the configuration go before those of the root's manifest.
    fn patches(&mut self, configured: &[ConfigPatch]) -> Result<(Vec<Patch>, Vec<Dep>)> {
        let root = Rc::clone(&self.root);
        refuse_replace(&self.root_path, &root)?;
        let mut wanted = Vec::new();
        for ConfigPatch { registry, key, dep, base, place } in configured {
            wanted.extend(self.patch(registry, key, dep, base).with_context(|| place.clone())?);
        }
        let base = parent(&self.root_path).to_owned();
        for (registry, table) in &root.manifest.patch {
            for (key, line) in table {
                if configured
                    .iter()
                    .any(|one| one.key == *key && same_source(&one.registry, registry))
                {
                    continue;
                }
                let at = line_of(&root.text, line.span().start);
                let place = format!("{}:{at}", self.root_path.display());
                let dep = line.get_ref().clone().into_detailed();
                wanted.extend(self.patch(registry, key, &dep, &base).context(place)?);
            }
        }
        let folder = |dep: &Dep| match dep.source {
            Source::Path(folder) => Some(Patch { folder }),
            Source::Registry => None,
        };
        Ok((wanted.iter().filter_map(folder).collect(), wanted))
    }

    /// `None` for a patch of a source that nothing here can come from.
    fn patch(
        &mut self,
        registry: &str,
        key: &str,
        detailed: &Detailed,
        base: &Path,
    ) -> Result<Option<Dep>> {
        if !is_default(registry) {
            return Ok(None);
        }
        let dep = self.dep(key, detailed, base, Kind::Normal, None)?;
        match dep.source {
            Source::Path(_) => Ok(Some(dep)),
            Source::Registry => bail!(
                "patch for `{key}` in `{registry}` points to the same source, \
                 but patches must point to different sources"
            ),
        }
    }

    fn honors_rust_version(&self) -> Result<bool> {
        let manifest = &self.root.manifest;
        let named = manifest.workspace.as_ref().and_then(|table| table.resolver.as_deref());
        let named = named.or_else(|| manifest.package.as_ref()?.resolver.as_deref());
        match named {
            Some("1" | "2") => Ok(false),
            Some("3") => Ok(true),
            Some(other) => bail!(
                "`resolver` setting `{other}` is not valid, valid options are \"1\", \"2\" or \"3\""
            ),
            None => inherit::default_edition_2024(&self.root),
        }
    }
}

fn is_default(registry: &str) -> bool {
    registry == "crates-io" || is_default_registry(registry)
}

fn same_source(one: &str, other: &str) -> bool {
    one == other || is_default(one) && is_default(other)
}

fn is_default_registry(url: &str) -> bool {
    let bare = |url: &str| url.trim_end_matches('/').trim_end_matches(".git").to_owned();
    bare(url) == bare(tame_index::CRATES_IO_INDEX)
}

/// A shared dependency is optional where it is used, or not at all.
fn refuse_optional(path: &Path, root: &Loaded) -> Result<()> {
    let shared = root.manifest.workspace.iter().flat_map(|table| &table.dependencies);
    for (key, line) in shared {
        let detailed = line.get_ref().clone().into_detailed();
        if detailed.optional == Some(true) {
            let at = line_of(&root.text, line.span().start);
            bail!(
                "{}:{at}: {key} is optional, but workspace dependencies cannot be optional",
                path.display()
            );
        }
    }
    Ok(())
}

/// A lock file could not tell two members of one name apart.
fn refuse_namesakes(reader: &Reader, members: &[u32]) -> Result<()> {
    let mut seen: HashMap<Name, &Path> = HashMap::new();
    for at in members {
        let Folder { dir, summary } = &reader.folders[*at as usize];
        let Ok(Summary { name, .. }) = summary else { continue };
        if let Some(other) = seen.insert(*name, dir) {
            let manifest = |dir: &Path| dir.join("Cargo.toml").display().to_string();
            bail!(
                "two packages named `{name}` in this workspace:\n- {}\n- {}",
                manifest(other),
                manifest(dir)
            );
        }
    }
    Ok(())
}

/// A patch has to be of the name and version that its line asks for.
fn check_patches(reader: &Reader, patches: &[Patch], wanted: &[Dep]) -> Result<()> {
    for (patch, dep) in patches.iter().zip(wanted) {
        let Folder { dir, summary } = &reader.folders[patch.folder as usize];
        let found = summary
            .as_ref()
            .map_err(|why| anyhow!("failed to load source for patch `{}`: {why}", dep.name))?;
        if found.name != dep.name {
            bail!(
                "the patch location `{}` does not contain any packages matching the name `{}`",
                dir.display(),
                dep.name
            );
        }
        if !dep.req.matches(&found.version) {
            bail!(
                "patch `{}` version mismatch\n\
                 note: patch location contains version `{}`, but patch definition requires `{}`\n\
                 help: check patch location `{}`",
                dep.name,
                found.version,
                dep.req,
                dir.display()
            );
        }
    }
    Ok(())
}

fn refuse_replace(path: &Path, root: &Loaded) -> Result<()> {
    match root.manifest.replace.iter().next() {
        None => Ok(()),
        Some((key, line)) => bail!(
            "{}:{}: `[replace]` of `{key}` is not supported\n\
             help: use `[patch.crates-io]` with a path instead",
            path.display(),
            line_of(&root.text, line.span().start)
        ),
    }
}

fn refuse_unsupported(key: &str, detailed: &Detailed) -> Result<()> {
    if detailed.git.is_some() {
        bail!(
            "dependency `{key}` comes from git, which mini-cargo does not support\n\
             help: use a published version, or a local checkout with `path`"
        );
    }
    if detailed.registry.as_deref().is_some_and(|name| name != "crates-io")
        || detailed.registry_index.is_some()
    {
        bail!(
            "dependency `{key}` comes from another registry, which mini-cargo does not support\n\
             help: use a version in the default registry, or a local copy with `path`"
        );
    }
    if detailed.artifact.is_some() {
        bail!("`artifact = …` requires `-Z bindeps` ({key})");
    }
    if detailed.version.is_none() && detailed.path.is_none() {
        bail!(
            "dependency ({key}) specified without providing a local path, Git repository, version, \
             or workspace dependency to use"
        );
    }
    Ok(())
}

fn check_target(target: Option<&str>) -> Result<()> {
    let parsed = target.map(cargo_platform::Platform::from_str).transpose();
    parsed.map(drop).map_err(|error| anyhow!("{error}"))
}

/// What cargo accepts as the name of a feature in a manifest.
fn check_feature_name(name: &str) -> Result<()> {
    if name.starts_with("dep:") {
        bail!("feature named `{name}` is not allowed to start with `dep:`");
    }
    if name.contains('/') {
        bail!(
            "invalid character `/` in feature name: `{name}`, feature name is not allowed to contain slashes"
        );
    }
    let mut letters = name.chars();
    let first = letters.next();
    if first.is_none() {
        bail!("feature name cannot be empty");
    }
    let starts = first.is_some_and(|first| first.is_alphanumeric() || first == '_');
    let goes_on = |letter: char| letter.is_alphanumeric() || ['_', '-', '+', '.'].contains(&letter);
    if !starts || !letters.all(goes_on) {
        bail!(
            "invalid character in feature name: `{name}`, \
             characters must be Unicode letters, digits, `_`, `-`, `+` or `.`"
        );
    }
    Ok(())
}

fn check_features(key: &str, features: &[String]) -> Result<()> {
    for feature in features {
        if feature.contains('/') {
            bail!("feature `{feature}` in dependency `{key}` is not allowed to contain slashes");
        }
        if feature.starts_with("dep:") {
            bail!(
                "feature `{feature}` in dependency `{key}` is not allowed to use explicit `dep:` syntax"
            );
        }
    }
    Ok(())
}

fn requirement(key: &str, detailed: &Detailed) -> Result<Req> {
    let Some(text) = &detailed.version else { return Ok(Req::Any) };
    let range = VersionReq::parse(text).with_context(|| {
        format!("failed to parse the version requirement `{text}` for dependency `{key}`")
    })?;
    Ok(Req::Range(Rc::new(range)))
}

/// Removes `.` and `..` without asking the disk, as cargo does.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

fn parent(manifest: &Path) -> &Path {
    manifest.parent().unwrap_or(Path::new(""))
}

fn parse_version(text: &str) -> Result<Version> {
    Version::parse(text.trim()).with_context(|| format!("invalid version `{text}`"))
}
