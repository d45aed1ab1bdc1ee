//! `cache verify [--repair]`: every byte of both caches.
//!
//! Without `--repair` nothing is changed. With it, a damaged crate of the index is read again from
//! cargo's own file, or forgotten where cargo has none; a damaged object is healed from its other
//! variant or set aside, and every crate that lacks an object is forgotten, so that the next
//! command that needs it unpacks it again. What is damaged is never used either way.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use cas_store::{Store, Tree, VerifyOptions, VerifyReport};
use index_cache::{Committed, Durability, IndexCache, Status, Verified};
use serde_json::{Value, json};

use super::Run;
use crate::cli::Output;

/// What was found in both, and what was done about it.
struct Found {
    index: Verified,
    /// The index file is cut short or damaged in both headers: it counts as empty, without faults.
    headless: bool,
    store: VerifyReport,
    /// Crates of the store with an object that is not there or damaged.
    incomplete: Vec<String>,
    repair: bool,
    /// Damaged entries that are left.
    left: usize,
}

pub(super) fn verify(run: &Run, repair: bool, output: Output) -> Result<()> {
    let found = look(run, repair)?;
    if output.is_json() {
        run.shell.result(found.to_json())?;
    } else {
        found.tell(run);
    }
    if found.left > 0 {
        bail!(
            "{} damaged entries\n\
             help: they are never used and are made anew when they are needed; \
             `mini-cargo cache verify --repair` removes them now",
            found.left
        );
    }
    Ok(())
}

fn look(run: &Run, repair: bool) -> Result<Found> {
    let opened = super::index(run)?;
    let headless = opened.status() == Status::Damaged;
    let mut index = opened.verify()?;
    let store = run.store()?;
    let checked = store.verify(VerifyOptions::default().report_only(!repair))?;
    let incomplete = incomplete(&store, &checked)?;
    let in_index = index.faults.len() + usize::from(headless);
    let mut left = in_index + checked.damaged.len() + incomplete.len();
    if repair {
        for key in &incomplete {
            store.remove_tree(key)?;
        }
        left = repair_index(run, &index, headless)?;
        index.entries = super::index(run)?.verify()?.entries;
    }
    Ok(Found { index, headless, store: checked, incomplete, repair, left })
}

/// The manifests that cannot be read or name an object that is not sound.
fn incomplete(store: &Store, checked: &VerifyReport) -> Result<Vec<String>> {
    let damaged = checked.damaged.iter().filter(|damage| damage.healed.is_none());
    let damaged: Vec<_> = damaged.map(|damage| (damage.digest, damage.executable)).collect();
    let lacks = |tree: &Tree| -> Result<bool> {
        for file in tree.files().iter().filter(|file| file.size > 0) {
            let object = (file.digest, file.executable);
            if damaged.contains(&object) || !store.contains(file.digest, file.executable)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut found = Vec::new();
    for key in store.trees()? {
        let bad = match store.tree(&key) {
            Ok(Some(tree)) => lacks(&tree)?,
            Ok(None) => false,
            Err(error) if error.is_corrupt() => true,
            Err(error) => return Err(error.into()),
        };
        if bad {
            found.push(key);
        }
    }
    Ok(found)
}

/// Gives the faults that are left.
fn repair_index(run: &Run, found: &Verified, headless: bool) -> Result<usize> {
    if found.is_sound() && !headless {
        return Ok(0);
    }
    let _package_cache = run.home.lock_package_cache(run.shell)?;
    if !headless && repair_entries(run, found)? == 0 {
        return Ok(0);
    }
    // Damage outside of the entries: what keeps them together is made anew.
    let path = run.home.index_file();
    std::fs::remove_file(&path)
        .with_context(|| format!("failed to remove `{}`", path.display()))?;
    run.cached()?.import()?;
    Ok(super::index(run)?.verify()?.faults.len())
}

/// Gives the faults that are left.
fn repair_entries(run: &Run, found: &Verified) -> Result<usize> {
    let keys: BTreeSet<&str> = found.faults.iter().filter_map(|f| f.key.as_deref()).collect();
    forget(&super::index(run)?, &keys)?;
    run.cached()?.import()?;
    Ok(super::index(run)?.verify()?.faults.len())
}

fn forget(index: &IndexCache, keys: &BTreeSet<&str>) -> Result<()> {
    let mut batch = index.batch();
    for key in keys {
        batch.remove(key)?;
    }
    match batch.commit(Durability::Fast).context("failed to write the index cache")? {
        Committed::Skipped(why) => bail!("the index cache cannot be repaired here: {why:?}"),
        _ => Ok(()),
    }
}

impl Found {
    fn to_json(&self) -> Value {
        let faults = self.index.faults.iter().map(|fault| {
            json!({"path": fault.path, "offset": fault.offset, "what": fault.what, "crate": fault.key})
        });
        let damaged = self.store.damaged.iter().map(|damage| {
            json!({"digest": damage.digest.to_string(), "healed": damage.healed.is_some()})
        });
        json!({
            "repaired": self.repair,
            "damaged_left": self.left,
            "index": {
                "crates": self.index.entries,
                "usable": !self.headless,
                "faults": faults.collect::<Value>(),
            },
            "store": {
                "objects": self.store.objects,
                "damaged": damaged.collect::<Value>(),
                "incomplete_crates": self.incomplete.len(),
            },
        })
    }

    fn tell(&self, run: &Run) {
        if self.headless {
            run.shell.warn(format_args!(
                "`{}` is cut short, or both of its headers are damaged; nothing in it can be used",
                run.home.index_file().display()
            ));
        }
        for fault in &self.index.faults {
            run.shell.warn(format_args!(
                "corrupt {} at byte {} of `{}` (crate `{}`)",
                fault.what,
                fault.offset,
                fault.path.display(),
                fault.key.as_deref().unwrap_or("?")
            ));
        }
        for damage in &self.store.damaged {
            let end = if damage.healed.is_some() { "; it is healed" } else { "" };
            run.shell.warn(format_args!("object {} does not have its bytes{end}", damage.digest));
        }
        for key in &self.incomplete {
            run.shell.warn(format_args!("`{key}` is not complete"));
        }
        let (crates, objects) = (self.index.entries, self.store.objects);
        let what = format!("{crates} crates of the index, {objects} objects of the store");
        run.shell.status("Verified", what);
        let in_index = self.index.faults.len() + usize::from(self.headless);
        let bad = in_index + self.store.damaged.len() + self.incomplete.len();
        if self.repair && bad > 0 {
            run.shell.status("Repaired", format_args!("{} damaged entries", bad - self.left));
        }
    }
}
