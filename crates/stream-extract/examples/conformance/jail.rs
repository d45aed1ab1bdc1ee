//! A folder in which a process without privileges judges one archive.
//!
//! The process is this program again. As root it is started as `nobody`: what a hostile archive could
//! then reach is the jail, and the folders that everybody may write to, which are looked through at
//! the end for anything of `nobody`'s.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::verdict::Verdict;

/// The first argument of a jailed process.
pub(crate) const ONE: &str = "--one";
/// What a jailed process may ever have had in memory, program and libraries included.
pub(crate) const MEMORY_KIB_MAX: u64 = 32 << 10;
const TIME_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Jail {
    folder: tempfile::TempDir,
    /// This program, where `nobody` may execute it.
    program: PathBuf,
    unprivileged: bool,
    /// What belonged to `nobody` before.
    known: Vec<PathBuf>,
}

impl Jail {
    pub(crate) fn make() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("conformance");
        fs::copy(std::env::current_exe()?, &program)?;
        let unprivileged = system::open_to_others(folder.path(), &program)?;
        Ok(Self { folder, program, unprivileged, known: system::of_nobody()? })
    }

    pub(crate) fn whose(&self) -> &'static str {
        if self.unprivileged { "judged as nobody" } else { "judged as the user who runs this" }
    }

    /// Judges an archive, from a copy that the process can read.
    pub(crate) fn judge(&self, file: &Path) -> io::Result<Verdict> {
        let name = file.file_name().unwrap_or_default();
        let cell = tempfile::tempdir_in(self.folder.path())?;
        let (copy, cage) = (cell.path().join(name), cell.path().join("cage"));
        fs::copy(file, &copy)?;
        fs::create_dir(&cage)?;
        let mut command = Command::new(&self.program);
        command.arg(ONE).arg(&copy).current_dir(&cage).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.unprivileged {
            system::hand_over(cell.path(), &copy, &cage, &mut command)?;
        }
        let mut verdict = run(command)?;
        verdict.faults.extend(inspect_cell(cell.path(), name)?);
        if verdict.memory_kib > MEMORY_KIB_MAX {
            verdict.faults.push(format!("it took {} KiB of memory", verdict.memory_kib));
        }
        Ok(verdict)
    }

    /// Things of `nobody`'s that appeared where everybody may write.
    pub(crate) fn escaped(&self) -> io::Result<Vec<PathBuf>> {
        let found = if self.unprivileged { system::of_nobody()? } else { Vec::new() };
        Ok(found.into_iter().filter(|path| !self.known.contains(path)).collect())
    }
}

/// A jailed process cleans up after itself, and touches nothing but its cage.
fn inspect_cell(cell: &Path, archive: &std::ffi::OsStr) -> io::Result<Vec<String>> {
    let mut left = Vec::new();
    for folder in [cell.to_path_buf(), cell.join("cage")] {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            if name != archive && name != "cage" {
                left.push(format!("{} was left behind", name.display()));
            }
        }
    }
    Ok(left)
}

fn run(mut command: Command) -> io::Result<Verdict> {
    let mut child = command.spawn()?;
    let ended = wait(&mut child)?;
    let mut text = String::new();
    child.stdout.take().map_or(Ok(0), |mut out| out.read_to_string(&mut text))?;
    let mut verdict = Verdict::from_lines(&text);
    match ended {
        None => verdict.faults.push(format!("it hangs: no end after {TIME_MAX:?}")),
        Some(status) if !status.success() => {
            let mut said = String::new();
            child.stderr.take().map_or(Ok(0), |mut err| err.read_to_string(&mut said))?;
            verdict.faults.push(format!("{status}: {}", said.escape_debug()));
        }
        Some(_) => {}
    }
    Ok(verdict)
}

/// The status, or none after the time limit, when the process was ended.
fn wait(child: &mut Child) -> io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    while start.elapsed() < TIME_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(unix)]
mod system {
    use std::fs::{self, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    const NOBODY: u32 = 65_534;
    const WRITABLE_BY_ALL: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

    /// Lets others pass through the folder to the program; true when this process is root, which it
    /// is when it owns what root alone can give away.
    pub(super) fn open_to_others(folder: &Path, program: &Path) -> io::Result<bool> {
        fs::set_permissions(folder, Permissions::from_mode(0o711))?;
        fs::set_permissions(program, Permissions::from_mode(0o755))?;
        Ok(fs::metadata(folder)?.uid() == 0)
    }

    /// Gives the cage to `nobody`, and makes the command run as such.
    pub(super) fn hand_over(
        cell: &Path,
        copy: &Path,
        cage: &Path,
        command: &mut Command,
    ) -> io::Result<()> {
        fs::set_permissions(cell, Permissions::from_mode(0o711))?;
        fs::set_permissions(copy, Permissions::from_mode(0o644))?;
        fs::set_permissions(cage, Permissions::from_mode(0o700))?;
        chown(cage, Some(NOBODY), Some(NOBODY))?;
        command.uid(NOBODY).gid(NOBODY);
        Ok(())
    }

    pub(super) fn of_nobody() -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for folder in WRITABLE_BY_ALL {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry?.path();
                if path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == NOBODY) {
                    found.push(path);
                }
            }
        }
        Ok(found)
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signatures as on Unix")]
mod system {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    pub(super) fn open_to_others(_: &Path, _: &Path) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn hand_over(_: &Path, _: &Path, _: &Path, _: &mut Command) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn of_nobody() -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
}
