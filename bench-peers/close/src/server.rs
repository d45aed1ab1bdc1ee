//! A slow file system in a process of its own, so that its CPU time is not the contender's.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bench_util::{CaseError, Place, Workdir};
use slowfs::{Close, How, SlowFs};

/// The hidden subcommand that serves.
pub const COMMAND: &str = "serve-slow-file-system";
/// Enough that requests beside the closes are never queued.
const THREADS: usize = 4;

/// How closing is slow.
#[derive(Clone, Copy)]
pub struct Profile {
    pub micros: u64,
    pub computes: bool,
    /// Every n-th close fails; 0: none.
    pub fails_every: u64,
}

impl Profile {
    pub fn waits(micros: u64) -> Self {
        Self { micros, computes: false, fails_every: 0 }
    }

    pub fn computes(micros: u64) -> Self {
        Self { computes: true, ..Self::waits(micros) }
    }

    fn arguments(self) -> [String; 3] {
        [self.micros.to_string(), self.computes.to_string(), self.fails_every.to_string()]
    }
}

/// A mounted slow file system; it ends when this is dropped.
pub struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// Tells whether one can be mounted here.
    pub fn probe() -> Result<(), CaseError> {
        Self::start(&Workdir::on(&Place::Memory)?, Profile::waits(0)).map(drop)
    }

    /// Mounts a fresh one on a new folder of `work`.
    pub fn start(work: &Workdir, profile: Profile) -> Result<Self, CaseError> {
        let folder = work.fresh("slow")?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .arg(&folder)
            .args(profile.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let answers = child.stdout.take().expect("piped");
        BufReader::new(answers).read_line(&mut line)?;
        let server = Self { child, folder };
        if line.trim() == "mounted" { Ok(server) } else { Err("cannot mount FUSE".into()) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended_by_itself = self.child.wait();
    }
}

/// The child: serves until its standard input closes, so that it never outlives its parent.
pub fn serve(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [folder, micros, computes, fails_every] = arguments else {
        return Err("wrong arguments".into());
    };
    const EIO: i32 = 5;
    let how = if computes.parse()? { How::Computes } else { How::Waits };
    let close = Close::waits(Duration::from_micros(micros.parse()?))
        .how(how)
        .failing(fails_every.parse()?, EIO);
    let mounted = SlowFs::mount(folder, close, THREADS)?;
    println!("mounted");
    io::stdin().read_to_end(&mut Vec::new())?;
    drop(mounted);
    Ok(())
}
