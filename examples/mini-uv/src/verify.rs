//! Reads the whole cache and compares it with what its names and checksums promise.
//!
//! A cache may lose data and must not return wrong data; this is how to know before it is asked. The
//! two stores check themselves; what is between them is checked here: that every tree still has its
//! files and its metadata. Repairing is removing, or healing from an environment that has the bytes.
//! A wheel that a killed process did not finish is no damage: nothing leads to it, `prune` removes it.

use std::path::PathBuf;

use cas_store::{Damage, HealedFrom, VerifyOptions};
use index_cache::Status;

use crate::cache::{Cache, TEXTS};

/// What was read, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) wheels: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// One line for each thing that is damaged.
    pub(crate) damage: Vec<String>,
}

/// Reads everything; with `repair`, removes or heals what is damaged.
pub(crate) fn check(cache: &Cache, repair: bool) -> anyhow::Result<Checked> {
    let mut checked = Checked::default();
    check_index(cache, repair, &mut checked)?;
    check_objects(cache, repair, &mut checked)?;
    check_trees(cache, repair, &mut checked)?;
    Ok(checked)
}

fn check_index(cache: &Cache, repair: bool, checked: &mut Checked) -> anyhow::Result<()> {
    let verified = cache.index.verify()?;
    checked.damage.extend(verified.faults.iter().map(ToString::to_string));
    if repair && !verified.is_sound() {
        let compacted = cache.index.compact()?;
        tracing::debug!("{compacted:?}");
    }
    check_headers(cache, repair, checked)
}

/// A file without a sound header counts as empty, which has nothing to find fault with.
fn check_headers(cache: &Cache, repair: bool, checked: &mut Checked) -> anyhow::Result<()> {
    if cache.index.status() != Status::Damaged {
        return Ok(());
    }
    let path = cache.index.path();
    checked.damage.push(format!(
        "{}: it is cut short, or both of its headers are damaged; nothing in it can be used",
        path.display()
    ));
    if repair {
        fs_err::remove_file(path)?;
    }
    Ok(())
}

fn check_objects(cache: &Cache, repair: bool, checked: &mut Checked) -> anyhow::Result<()> {
    let environments = cache.environments();
    let options =
        environments.into_iter().fold(VerifyOptions::default(), VerifyOptions::environment);
    let report = cache.store.verify(options.report_only(!repair))?;
    checked.files = report.objects;
    checked.bytes = report.bytes_read;
    checked.damage.extend(report.damaged.iter().map(|damage| describe(cache, damage)));
    Ok(())
}

/// What is wrong with an object, who has it too, and what became of it.
fn describe(cache: &Cache, damage: &Damage) -> String {
    let path = cache.store.object_path(damage.digest, damage.executable);
    let mut lines = vec![format!("{}: its content is not what its name says", path.display())];
    let shared = damage.shared_with.iter();
    lines.extend(shared.map(|sharer| format!("  the same file is `{}`", sharer.display())));
    lines.extend(match &damage.healed {
        Some(HealedFrom::File(file)) => Some(format!("  healed from `{}`", file.display())),
        Some(_) => Some("  healed from its other variant".to_owned()),
        None => damage.quarantined.as_ref().map(|_| "  set aside".to_owned()),
    });
    lines.join("\n")
}

fn check_trees(cache: &Cache, repair: bool, checked: &mut Checked) -> anyhow::Result<()> {
    let unfinished = cache.unfinished()?;
    for key in cache.store.trees()?.into_iter().filter(|key| !unfinished.contains(key)) {
        checked.wheels += 1;
        let Some(what) = tree_fault(cache, &key)? else { continue };
        checked.damage.push(format!("{key}: {what}"));
        if repair {
            cache.store.remove_tree(&key)?;
        }
    }
    Ok(())
}

/// What an unpacked wheel has lost.
fn tree_fault(cache: &Cache, key: &str) -> anyhow::Result<Option<String>> {
    let Some(tree) = cache.store.tree(key)? else { return Ok(None) };
    if !has_texts(cache, key) {
        return Ok(Some(format!("its metadata is damaged in {}", cache.index.path().display())));
    }
    let mut lost: Vec<PathBuf> = Vec::new();
    for file in tree.files().iter().filter(|file| file.size > 0) {
        if !cache.store.contains(file.digest, file.executable)? {
            lost.push(PathBuf::from(&file.path));
        }
    }
    Ok(lost
        .first()
        .map(|first| format!("{} of its files lost, `{}` first", lost.len(), first.display())))
}

fn has_texts(cache: &Cache, key: &str) -> bool {
    let entry = cache.index.get(&format!("wheel/{key}"));
    let Ok(Some(entry)) = entry else { return false };
    TEXTS.iter().all(|name| matches!(entry.slice(name), Ok(Some(_))))
}
