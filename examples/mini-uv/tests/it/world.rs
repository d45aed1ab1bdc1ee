//! A temporary folder with a cache, environments and wheels, and ways to run things in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Everything that one test has. Removed when dropped.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that was interrupted on a terminal.
#[derive(Debug)]
pub(crate) struct Interrupted {
    /// The signal that it died of, 0 if it ended by itself.
    pub(crate) signal: i32,
    /// What was on its terminal, control codes and all.
    pub(crate) shown: String,
}

/// Arguments: a folder, a command. Prints the signal that the command died of, and what it showed.
const TERMINAL: &str = r"
import os, pty, select, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
def is_full(folder):
    return any(files for _, _, files in os.walk(folder))
shown, typed = b'', False
while True:
    if not typed and is_full(sys.argv[1]):
        os.write(terminal, b'\x03')
        typed = True
    if select.select([terminal], [], [], 0.005)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
_, status = os.waitpid(child, 0)
print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)
print(shown.decode())
";

impl Ran {
    /// Runs `command` to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Fails unless the command exited with `code` and said each of `words` on stderr.
    #[track_caller]
    pub(crate) fn failure(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "no `{word}` in {self:#?}");
        }
        self
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn wheels(&self) -> PathBuf {
        self.path("wheels")
    }

    /// The tool, without anything that this machine's environment says about it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(tool());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["UV_", "PIP_", "PYTHON", "VIRTUAL_ENV"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(&name);
            }
        }
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("UV_CACHE_DIR", self.path("cache"))
            .env("NO_COLOR", "1");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// A new environment.
    pub(crate) fn environment(&self, name: &str) -> Environment {
        let path = self.path(name);
        self.run(&[
            "venv",
            "--quiet",
            path.to_str().unwrap(),
            "--python",
            python().to_str().unwrap(),
        ])
        .success();
        Environment { path }
    }

    /// Runs the tool on a terminal of its own and types Ctrl-C once something is in `folder`.
    pub(crate) fn interrupt_on_terminal(&self, folder: &Path, args: &[&str]) -> Interrupted {
        let tool = self.command(args);
        let mut python = Command::new(python());
        python.args(["-I", "-c", TERMINAL]).arg(folder).arg(tool.get_program()).args(args);
        python.current_dir(self.dir.path()).env_remove("NO_COLOR");
        for (name, value) in tool.get_envs() {
            match value {
                Some(value) => python.env(name, value),
                None => python.env_remove(name),
            };
        }
        let ran = Ran::from(python.output().unwrap()).success();
        let (signal, shown) = ran.stdout.split_once('\n').unwrap();
        Interrupted { signal: signal.parse().unwrap(), shown: shown.to_owned() }
    }

    /// Installs with the options that most tests want.
    pub(crate) fn install(&self, environment: &Environment, args: &[&str]) -> Ran {
        self.run(&[&["pip", "install", "--no-index", "--python", environment.str()], args].concat())
    }
}

/// The tool: as cargo says in tests, beside this program elsewhere.
fn tool() -> PathBuf {
    option_env!("CARGO_BIN_EXE_mini-uv").map_or_else(
        || {
            let own = std::env::current_exe().unwrap();
            own.ancestors().nth(2).unwrap().join("mini-uv")
        },
        PathBuf::from,
    )
}

/// A virtual environment.
pub(crate) struct Environment {
    pub(crate) path: PathBuf,
}

impl Environment {
    pub(crate) fn str(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub(crate) fn site(&self) -> PathBuf {
        let lib = std::fs::read_dir(self.path.join("lib")).unwrap().next().unwrap().unwrap();
        lib.path().join("site-packages")
    }

    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.path.join("bin").join(name)
    }

    /// What the environment's own interpreter prints for `code`.
    #[track_caller]
    pub(crate) fn python(&self, code: &str) -> String {
        let ran = Ran::from(
            Command::new(self.bin("python")).args(["-I", "-B", "-c", code]).output().unwrap(),
        );
        ran.success().stdout.trim().to_owned()
    }

    /// Real pip, run on this environment.
    pub(crate) fn pip(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(python());
        command.env_remove("PIP_FIND_LINKS").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command.args(["-I", "-B"]).arg(pip()).args(["--python", self.str()]).args(args);
        Ran::from(command.output().unwrap())
    }

    /// Every file of the environment with its content.
    pub(crate) fn picture(&self) -> BTreeMap<String, Vec<u8>> {
        picture(&self.path)
    }
}

/// Every file below `dir` with its content; links with where they lead.
pub(crate) fn picture(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                seen.insert(name, target.to_str().unwrap().into());
            } else if path.is_dir() {
                seen.insert(format!("{name}/"), Vec::new());
                folders.push(path);
            } else {
                seen.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    // The lock stays by design and says nothing.
    seen.remove(".lock");
    seen
}

/// The interpreter that tests use: the first that starts.
pub(crate) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let code = "import sys; print(sys.executable)";
        for name in ["python3", "python"] {
            let asked = Command::new(name).args(["-I", "-c", code]).output();
            if let Ok(output) = asked.map(Ran::from).map(Ran::success) {
                return PathBuf::from(output.stdout.trim());
            }
        }
        panic!("these tests need Python on PATH");
    })
}

/// A pip that runs without being installed: the one that comes with Python, or an installed one.
fn pip() -> &'static Path {
    static PIP: OnceLock<PathBuf> = OnceLock::new();
    PIP.get_or_init(|| {
        let code = "
import glob, os
try:
    import ensurepip
    found = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), '_bundled', 'pip-*.whl'))
except ImportError:
    found = []
if found:
    print(os.path.join(found[0], 'pip'))
else:
    import pip
    print(os.path.dirname(pip.__file__))
";
        let asked = Command::new(python()).args(["-I", "-c", code]).output().unwrap();
        PathBuf::from(Ran::from(asked).success().stdout.trim())
    })
}
