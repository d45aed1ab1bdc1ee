//! Makes a virtual environment: a folder whose `python` believes that it lives there.
//!
//! It is what Python's own `venv` makes, without pip in it and without starting Python a second
//! time: `pyvenv.cfg`, an interpreter that leads to the base one, the folders of the scheme, and
//! scripts that put it on PATH.
//!
//! Where symbolic links cannot be made (FAT, some network and container mounts, Windows) the interpreter
//! is copied, as Python's own `venv` does; such an environment keeps the interpreter that it was made with.
//!
//! # References
//!
//! PEP 405 (virtual environments); the cache directory tagging specification.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::fault::Advise;
use crate::interpreter::Interpreter;

const CACHEDIR_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

/// What the user may choose about an environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) prompt: Option<String>,
    pub(crate) system_site_packages: bool,
    /// Remove an environment that is in the way.
    pub(crate) clear: bool,
    /// Keep what is in the folder.
    pub(crate) allow_existing: bool,
}

/// A new environment.
#[derive(Debug)]
pub(crate) struct Made {
    /// Its absolute path.
    pub(crate) dir: PathBuf,
    /// True when its interpreter is a copy, for want of symbolic links.
    pub(crate) is_copy: bool,
}

/// Makes an environment of `base` in `dir`.
pub(crate) fn create(dir: &Path, base: &Interpreter, options: &Options) -> anyhow::Result<Made> {
    let dir = std::path::absolute(dir)?;
    make_room(&dir, options)?;
    fs_err::create_dir_all(&dir)?;
    fs_err::write(dir.join(".gitignore"), "*")?;
    fs_err::write(dir.join("CACHEDIR.TAG"), CACHEDIR_TAG)?;
    make_folders(&dir, base)?;
    let is_copy = put_interpreter(&dir, base)?;
    write_activation(&dir, options)?;
    // Last, because its presence is what says that the environment is complete.
    fs_err::write(dir.join("pyvenv.cfg"), configuration(base, options))?;
    Ok(Made { dir, is_copy })
}

/// Refuses to write into a folder that holds something else.
fn make_room(dir: &Path, options: &Options) -> anyhow::Result<()> {
    if is_empty_or_absent(dir)? || options.allow_existing {
        return Ok(());
    }
    let environment = dir.join("pyvenv.cfg").is_file();
    if options.clear && environment {
        return fs_err::remove_dir_all(dir).context("failed to remove the old environment");
    }
    let what = if environment { "an environment is already" } else { "something else is" };
    Err(anyhow::anyhow!("{what} at `{}`", dir.display())).hint(if environment {
        "replace it with `--clear`, or keep what is in it with `--allow-existing`"
    } else {
        "choose another folder, or keep what is in it with `--allow-existing`"
    })
}

fn is_empty_or_absent(dir: &Path) -> anyhow::Result<bool> {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => {
            bail!(
                anyhow::Error::from(error)
                    .context(format!("failed to look into `{}`", dir.display()))
            )
        }
    }
}

fn make_folders(dir: &Path, base: &Interpreter) -> anyhow::Result<()> {
    fs_err::create_dir_all(site_packages(dir, base))?;
    fs_err::create_dir_all(dir.join(bin()))?;
    if cfg!(unix)
        && base.bits == 64
        && !dir.join("lib64").exists()
        && base.platform.starts_with("linux")
    {
        // Without it, modules of such an interpreter are looked for in both folders all the same.
        symlink(Path::new("lib"), &dir.join("lib64")).unwrap_or(());
    }
    Ok(())
}

/// Where an environment's packages are.
fn site_packages(dir: &Path, base: &Interpreter) -> PathBuf {
    if cfg!(windows) {
        return dir.join("Lib").join("site-packages");
    }
    let (major, minor) = base.version;
    let implementation = base.markers.implementation_name().replace("cpython", "python");
    let threading = if base.gil_disabled { "t" } else { "" };
    dir.join("lib")
        .join(format!("{implementation}{major}.{minor}{threading}"))
        .join("site-packages")
}

/// The folder of scripts, as its last component.
pub(crate) fn bin() -> &'static str {
    if cfg!(windows) { "Scripts" } else { "bin" }
}

/// Puts the interpreter in `bin`; true when it is a copy.
fn put_interpreter(dir: &Path, base: &Interpreter) -> anyhow::Result<bool> {
    let target = &base.base_executable;
    let bin = dir.join(bin());
    if cfg!(windows) {
        fs_err::copy(target, bin.join("python.exe")).context("failed to copy the interpreter")?;
        return Ok(true);
    }
    let (major, minor) = base.version;
    let names = ["python".to_owned(), format!("python{major}"), format!("python{major}.{minor}")];
    link_or_copy(target, &bin, &names, symlink)
}

/// Makes `names` in `bin` lead to `target` with `link`: the first one directly, the others through it.
/// Where that fails they are copies, and the answer is true.
fn link_or_copy(
    target: &Path,
    bin: &Path,
    names: &[String],
    link: fn(&Path, &Path) -> io::Result<()>,
) -> anyhow::Result<bool> {
    let mut is_copy = false;
    let mut leads_to = target;
    for name in names {
        let path = bin.join(name);
        if path.symlink_metadata().is_ok() {
            fs_err::remove_file(&path)?;
        }
        if link(leads_to, &path).is_err() {
            fs_err::copy(target, &path).context("failed to copy the interpreter")?;
            is_copy = true;
        }
        leads_to = Path::new(&names[0]);
    }
    Ok(is_copy)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn configuration(base: &Interpreter, options: &Options) -> String {
    let home = base.base_executable.parent().unwrap_or(Path::new("/"));
    let mut text = format!(
        "home = {}\nimplementation = {}\nmini-uv = {}\nversion_info = {}\ninclude-system-site-packages = {}\n",
        home.display(),
        base.markers.platform_python_implementation(),
        env!("CARGO_PKG_VERSION"),
        base.full_version(),
        options.system_site_packages,
    );
    if let Some(prompt) = &options.prompt {
        text.extend(["prompt = ", prompt, "\n"]);
    }
    text
}

/// How a shell writes a string that contains nothing special.
type Quote = fn(&str) -> String;

const ACTIVATION: [(&str, &str, Quote); 4] = [
    ("activate", include_str!("activate/activate"), posix_quote),
    ("activate.fish", include_str!("activate/activate.fish"), fish_quote),
    ("activate.csh", include_str!("activate/activate.csh"), posix_quote),
    ("activate.ps1", include_str!("activate/activate.ps1"), powershell_quote),
];

fn write_activation(dir: &Path, options: &Options) -> anyhow::Result<()> {
    let name = dir.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let prompt = options.prompt.as_deref().unwrap_or(&name);
    let path = dir.to_str().with_context(|| format!("`{}` is not valid Unicode", dir.display()))?;
    for (file, template, quote) in ACTIVATION {
        let text = template
            .replace("@VIRTUAL_ENV@", &quote(path))
            .replace("@PROMPT@", &quote(prompt))
            .replace("@BIN@", bin());
        fs_err::write(dir.join(bin()).join(file), text)?;
    }
    Ok(())
}

fn posix_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn fish_quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn powershell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse(_: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    #[cfg(unix)]
    #[test]
    fn an_interpreter_is_copied_where_no_link_can_be_made_and_linked_again_where_one_can() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("base");
        std::fs::write(&target, "an interpreter").unwrap();
        std::fs::set_permissions(&target, PermissionsExt::from_mode(0o755)).unwrap();
        let names = ["python".to_owned(), "python3".to_owned()];
        assert!(link_or_copy(&target, dir.path(), &names, refuse).unwrap());
        for name in &names {
            let metadata = dir.path().join(name).symlink_metadata().unwrap();
            assert!(metadata.is_file() && metadata.permissions().mode() & 0o111 == 0o111, "{name}");
        }
        assert!(!link_or_copy(&target, dir.path(), &names, symlink).unwrap());
        let leads_to = names.map(|name| std::fs::read_link(dir.path().join(name)).unwrap());
        assert_eq!(leads_to, [target, "python".into()]);
    }

    #[test]
    fn each_shell_gets_its_own_quotes() {
        assert_eq!(posix_quote("a'b"), r"'a'\''b'");
        assert_eq!(fish_quote(r"a'\b"), r"'a\'\\b'");
        assert_eq!(powershell_quote("a'b"), "'a''b'");
    }
}
