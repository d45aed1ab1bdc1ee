//! `[patch]` in cargo's configuration files.
//!
//! Read from `.cargo/config.toml` (or `.cargo/config`) in the current folder and above, then from
//! cargo's home. The nearest file wins for a name; a path is relative to the folder that holds
//! `.cargo`. Cargo's `--config` and `include` are not read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use serde::Deserialize;

use crate::manifest::{Deps, Detailed, line_of};

/// One line of a `[patch]` table.
#[derive(Debug)]
pub(crate) struct ConfigPatch {
    pub(crate) registry: String,
    pub(crate) key: String,
    pub(crate) dep: Detailed,
    /// What its path is relative to.
    pub(crate) base: PathBuf,
    /// File and line, for messages.
    pub(crate) place: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    patch: BTreeMap<String, Deps>,
}

/// Every patch that counts for a command called in `dir`.
///
/// # Errors
/// When a file cannot be read or its `[patch]` makes no sense.
pub(crate) fn find(dir: &Path, cargo_home: &Path) -> Result<Vec<ConfigPatch>> {
    let mut files: Vec<_> =
        dir.ancestors().filter_map(|dir| config_in(&dir.join(".cargo"))).collect();
    if let Some(file) = config_in(cargo_home).filter(|file| !files.contains(file)) {
        files.push(file);
    }
    let mut found: Vec<ConfigPatch> = Vec::new();
    for file in files {
        let read = read(&file).with_context(|| format!("failed to read `{}`", file.display()))?;
        for patch in read {
            let same =
                |known: &ConfigPatch| known.registry == patch.registry && known.key == patch.key;
            if !found.iter().any(same) {
                found.push(patch);
            }
        }
    }
    Ok(found)
}

/// The name without an ending is the older one and goes first, as in cargo.
fn config_in(folder: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
}

fn read(file: &Path) -> Result<Vec<ConfigPatch>> {
    let text = std::fs::read_to_string(file)?;
    let config: Config =
        toml::from_str(&text).map_err(|error| anyhow!("{}", error.to_string().trim_end()))?;
    let base = file.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut patches = Vec::new();
    for (registry, table) in config.patch {
        for (key, line) in table {
            let place = format!("{}:{}", file.display(), line_of(&text, line.span().start));
            let (dep, base) = (line.into_inner().into_detailed(), base.to_owned());
            patches.push(ConfigPatch { registry: registry.clone(), key, dep, base, place });
        }
    }
    Ok(patches)
}
