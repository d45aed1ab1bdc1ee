//! From an unpacked wheel to what an environment shall hold: where each file goes, the scripts, and
//! the files that say who installed what.
//!
//! Everything written here is a fresh file, never a link: RECORD, INSTALLER, REQUESTED,
//! `direct_url.json` and scripts differ between environments, and writing to a link would change
//! them all. Nothing outside the stage folder is touched; `transaction.rs` does that.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use crate::entry_points;
use crate::environment::{self, Environment};
use crate::record::{self, Row};
use crate::script;
use crate::unpack::Raw;
use crate::wheel::{self};
use crate::wheel_name::WheelName;

/// What an environment records about why a package is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    /// Named by the user, not only by another package.
    pub(crate) requested: bool,
    /// Where it came from, when not from an index.
    pub(crate) url: Option<String>,
}

/// A package that is ready to be moved into place.
#[derive(Debug)]
pub(crate) struct Staged {
    /// From the stage folder to the environment.
    pub(crate) moves: Vec<(PathBuf, PathBuf)>,
    /// Absolute paths of Python sources, once they are in place.
    pub(crate) sources: Vec<PathBuf>,
}

/// Prepares the wheel in `raw` for `environment`.
pub(crate) fn arrange(
    raw: &Raw,
    wheel: &WheelName,
    environment: &Environment,
    provenance: &Provenance,
) -> anyhow::Result<Staged> {
    let rows = record::parse(&raw.unpacked.texts.record)?;
    let paths: Vec<&str> = rows.iter().map(|row| &*row.path).collect();
    let dist_info = wheel::dist_info(&paths, wheel)?;
    let site = site(&raw.unpacked.texts.wheel, environment);
    let mut arranger = Arranger {
        raw: &raw.dir,
        data: format!("{}.data", dist_info.trim_end_matches(".dist-info")),
        site,
        wheel,
        environment,
        rows: Vec::with_capacity(rows.len() + 8),
    };
    for row in rows {
        arranger.file(row)?;
    }
    arranger.launchers(&raw.unpacked.texts.entry_points)?;
    arranger.metadata(&dist_info, raw, provenance)?;
    arranger.finish(&dist_info)
}

fn site<'e>(wheel: &str, environment: &'e Environment) -> &'e Path {
    if wheel::is_pure(wheel) { &environment.roots.purelib } else { &environment.roots.platlib }
}

struct Arranger<'a> {
    /// The stage folder, in the archive's layout.
    raw: &'a Path,
    /// The name of the top-level folder whose parts go elsewhere.
    data: String,
    site: &'a Path,
    wheel: &'a WheelName,
    environment: &'a Environment,
    /// The RECORD of the installed package.
    rows: Vec<Row>,
}

impl Arranger<'_> {
    /// Decides where one file of the archive goes.
    fn file(&mut self, row: Row) -> anyhow::Result<()> {
        let in_data = row.path.strip_prefix(&self.data).and_then(|rest| rest.strip_prefix('/'));
        let Some((key, name)) = in_data.map(|rest| rest.split_once('/').unwrap_or((rest, "")))
        else {
            if !is_own(&row.path) {
                self.rows.push(row);
            }
            return Ok(());
        };
        let root = self.root(key)?;
        let to = root.join(name);
        self.refuse_interpreter(&to)?;
        let row = if key == "scripts" { self.script(row)? } else { row };
        self.rows.push(Row { path: environment::relative(&to, self.site)?, ..row });
        Ok(())
    }

    /// The folder of the scheme that a key of `.data` stands for.
    fn root(&self, key: &str) -> anyhow::Result<PathBuf> {
        let roots = &self.environment.roots;
        Ok(match key {
            "purelib" => roots.purelib.clone(),
            "platlib" => roots.platlib.clone(),
            "scripts" => roots.scripts.clone(),
            "data" => roots.data.clone(),
            "headers" => roots.include.join(self.wheel.name.as_dist_info_name().as_ref()),
            _ => bail!("its folder `{}/{key}` is in no installation scheme", self.data),
        })
    }

    /// Refuses a file that would become the interpreter or its configuration.
    fn refuse_interpreter(&self, to: &Path) -> anyhow::Result<()> {
        let roots = &self.environment.roots;
        let name = to.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if to.parent() == Some(&roots.scripts) {
            entry_points::check_name(name)?;
        }
        ensure!(
            to != roots.data.join("pyvenv.cfg"),
            "it would replace the environment's `pyvenv.cfg`"
        );
        Ok(())
    }

    /// Makes a wheel's script runnable here; a script that needs no change stays a link.
    fn script(&self, row: Row) -> anyhow::Result<Row> {
        let path = self.raw.join(&row.path);
        let python = self.python()?;
        if let Some(text) = rewritten(&path, python)? {
            replace(&path, &text, true)?;
            return Ok(row_of(row.path, &text));
        }
        if !is_executable(&path)? {
            let bytes = fs_err::read(&path)?;
            replace(&path, &bytes, true)?;
        }
        Ok(row)
    }

    fn python(&self) -> anyhow::Result<&str> {
        let path = &self.environment.interpreter.executable;
        path.to_str().with_context(|| format!("`{}` is not valid Unicode", path.display()))
    }

    /// Writes the scripts of the entry points.
    fn launchers(&mut self, text: &str) -> anyhow::Result<()> {
        for entry in entry_points::parse(text)? {
            let name = format!("{}{}", entry.name, launcher_suffix());
            let script = script::launcher(self.python()?, &entry);
            let folder = self.raw.join(&self.data).join("scripts");
            fs_err::create_dir_all(&folder)?;
            replace(&folder.join(&name), script.as_bytes(), true)?;
            let to = self.environment.roots.scripts.join(&name);
            let path = environment::relative(&to, self.site)?;
            self.rows.retain(|row| row.path != path);
            self.rows.push(row_of(path, script.as_bytes()));
        }
        Ok(())
    }

    /// Writes INSTALLER, REQUESTED and `direct_url.json`.
    fn metadata(
        &mut self,
        dist_info: &str,
        raw: &Raw,
        provenance: &Provenance,
    ) -> anyhow::Result<()> {
        self.write(dist_info, "INSTALLER", b"mini-uv")?;
        if provenance.requested {
            self.write(dist_info, "REQUESTED", b"")?;
        }
        if let Some(url) = &provenance.url {
            let text = direct_url(url, raw.sha256.as_ref());
            self.write(dist_info, "direct_url.json", text.as_bytes())?;
        }
        Ok(())
    }

    fn write(&mut self, dist_info: &str, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = format!("{dist_info}/{name}");
        replace(&self.raw.join(&path), bytes, false)?;
        self.rows.push(row_of(path, bytes));
        Ok(())
    }

    /// Writes RECORD and lists what is to be moved.
    fn finish(mut self, dist_info: &str) -> anyhow::Result<Staged> {
        let sources = self.sources()?;
        let path = format!("{dist_info}/RECORD");
        self.rows.push(Row { path: path.clone(), sha256: None, size: None });
        let text = record::write(std::mem::take(&mut self.rows));
        replace(&self.raw.join(path), text.as_bytes(), false)?;
        Ok(Staged { moves: self.moves()?, sources })
    }

    fn sources(&self) -> anyhow::Result<Vec<PathBuf>> {
        let python = self.rows.iter().filter(|row| {
            Path::new(&row.path).extension().is_some_and(|extension| extension == "py")
        });
        python.map(|row| environment::resolve(self.site, &row.path)).collect()
    }

    /// Top-level entries go to the site, parts of the data folder to their own roots.
    fn moves(&self) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
        let mut moves = Vec::new();
        for (name, path) in children(self.raw)? {
            if name == self.data {
                for (key, part) in children(&path)? {
                    moves.push((part, self.root(&key)?));
                }
            } else {
                moves.push((path, self.site.join(name)));
            }
        }
        Ok(moves)
    }
}

fn children(dir: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut children = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name =
            name.map_err(|name| anyhow::anyhow!("`{}` is not valid Unicode", name.display()))?;
        children.push((name, entry.path()));
    }
    children.sort();
    Ok(children)
}

/// True for the files of `.dist-info` that are written anew.
fn is_own(path: &str) -> bool {
    let name = path.split_once('/').filter(|(top, _)| top.ends_with(".dist-info"));
    name.is_some_and(|(_, name)| {
        matches!(name, "INSTALLER" | "REQUESTED" | "direct_url.json" | "RECORD")
    })
}

fn row_of(path: String, bytes: &[u8]) -> Row {
    Row { path, sha256: Some(Sha256::digest(bytes).into()), size: Some(bytes.len() as u64) }
}

/// The rewritten text of a script that asks for it. Only its first bytes are read otherwise.
fn rewritten(path: &Path, python: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let mut file = fs_err::File::open(path)?;
    let mut text = Vec::new();
    file.by_ref().take(8).read_to_end(&mut text)?;
    if text != b"#!python" {
        return Ok(None);
    }
    file.read_to_end(&mut text)?;
    Ok(script::rewrite(python, &text))
}

/// Writes a fresh file at `path`; what was there is left to its other links.
fn replace(path: &Path, bytes: &[u8], executable: bool) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        fs_err::remove_file(path)?;
    }
    fs_err::write(path, bytes)?;
    if executable {
        make_executable(path)?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs_err::metadata(path)?.permissions();
    // Whoever may read it may run it: this keeps the umask's decision.
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    Ok(fs_err::set_permissions(path, permissions)?)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
fn make_executable(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> anyhow::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs_err::metadata(path)?.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
fn is_executable(_: &Path) -> anyhow::Result<bool> {
    Ok(true)
}

/// Windows starts scripts by association; launchers that are programs are absent.
fn launcher_suffix() -> &'static str {
    if cfg!(windows) { ".py" } else { "" }
}

/// PEP 610: where a package came from, with its digest where it is known.
fn direct_url(url: &str, sha256: Option<&[u8; 32]>) -> String {
    let archive = sha256.map_or_else(
        || serde_json::json!({}),
        |digest| serde_json::json!({"hashes": {"sha256": record::hex(digest)}}),
    );
    serde_json::json!({"archive_info": archive, "url": url}).to_string()
}
