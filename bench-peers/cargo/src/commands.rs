//! One workspace's rows: the same command of both programs, in pairs.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{CaseError, Comparison, Error, Paired, Report, Settings, Workdir, output_of};

use crate::LARGE;
use crate::locks::Lock;
use crate::projects::Project;
use crate::tools::Tools;

pub(crate) struct Bench<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) home: &'a Path,
    pub(crate) work: &'a Workdir,
    pub(crate) settings: &'a Settings,
    pub(crate) project: Project,
}

/// What is in place before each run of a command.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    NoLock,
    Lock,
}

impl Bench<'_> {
    pub(crate) fn run(&self, report: &mut Report) {
        match self.prepared() {
            Ok((lock, cache, note)) => self.rows(&lock, &cache, &note, report),
            Err(error) => report.failed(&self.project.name, &error),
        }
    }

    /// Locks once with each program, so that the index and both caches are there and compared.
    fn prepared(&self) -> Result<(Lock, PathBuf, String), Error> {
        eprintln!("        Locking {}", self.project.name);
        let cargo = || self.tools.cargo(self.home, &self.project.path);
        let pinned = ["generate-lockfile", "-Zno-index-update"];
        if self.settings.data.is_none() {
            output_of(cargo().arg("generate-lockfile"))?; // Fills the index, over the network.
        }
        output_of(cargo().args(pinned))?;
        let lock = Lock::read(&self.project.path).map_err(unreadable)?;
        let cache = self.work.fresh("mini-cargo-cache")?;
        output_of(self.mini(&cache).args(["cache", "import", "--offline"]))?;
        lock.remove().map_err(unreadable)?;
        output_of(self.mini(&cache).args(["generate-lockfile", "--offline"]))?;
        let note = match lock.difference().map_err(unreadable)? {
            0 => format!("{} packages; both locks are equal.", lock.packages()),
            lines => format!("{} packages; the locks differ in {lines} lines.", lock.packages()),
        };
        Ok((lock, cache, note))
    }

    fn rows(&self, lock: &Lock, cache: &Path, note: &str, report: &mut Report) {
        let name = |command: &str| format!("{}: {command}", self.project.name);
        let locking = name("generate-lockfile");
        let result = self.locking(&locking, lock, cache).map(|done| done.note(note));
        report.add_or_failed(&locking, result);
        if self.settings.quick && self.project.name == LARGE {
            return;
        }
        let one = lock.one_package().unwrap_or_default();
        for arguments in [&["update"][..], &["update", "-p", &one]] {
            let name = name(&arguments.join(" "));
            let result = self.cases(&name, arguments, (lock, Before::Lock), cache).run();
            report.add_or_failed(&name, result);
        }
    }

    /// The headline: also with the import of cargo's index in every run.
    fn locking(&self, name: &str, lock: &Lock, cache: &Path) -> Result<Comparison, Error> {
        let arguments = ["generate-lockfile"];
        let mut paired = self.cases(name, &arguments, (lock, Before::NoLock), cache);
        if self.project.name == LARGE {
            paired = paired.goal(0.25);
        }
        paired
            .case_metered("mini-cargo, importing the index first", |meter| {
                lock.remove()?;
                let fresh = self.work.unused("import");
                meter.measure_command(self.mini(&fresh).args(["cache", "import", "--offline"]))?;
                meter
                    .measure_command(self.mini(&fresh).args(["generate-lockfile", "--offline"]))?;
                Ok(std::fs::remove_dir_all(fresh)?) // tmpfs: no cost to the next run.
            })
            .run()
    }

    fn cases<'b>(
        &'b self,
        name: &str,
        arguments: &[&str],
        (lock, before): (&'b Lock, Before),
        cache: &'b Path,
    ) -> Paired<'b> {
        let owned = || arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>();
        let (pinned, offline, ours) = (owned(), owned(), owned());
        let ready = move |mut command: Command| -> Result<Command, CaseError> {
            match before {
                Before::NoLock => lock.remove()?,
                Before::Lock => lock.put_back()?,
            }
            command.stdin(std::process::Stdio::null());
            Ok(command)
        };
        let cargo = move |arguments: &[String], flag: &str| {
            let mut command = self.tools.cargo(self.home, &self.project.path);
            command.args(arguments).arg(flag);
            command
        };
        Paired::new(name)
            .settings(self.settings)
            .reference_command("cargo -Zno-index-update", move |_| {
                ready(cargo(&pinned, "-Zno-index-update"))
            })
            .case_command("cargo --offline", move |_| ready(cargo(&offline, "--offline")))
            .case_command("mini-cargo", move |_| {
                let mut command = self.mini(cache);
                command.args(&ours).arg("--offline");
                ready(command)
            })
    }

    fn mini(&self, cache: &Path) -> Command {
        self.tools.mini_cargo(self.home, cache, &self.project.path)
    }
}

fn unreadable(error: std::io::Error) -> Error {
    Error::unavailable(format!("the lock file ({error})"), "check the workspace")
}
