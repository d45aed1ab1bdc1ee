//! The same archive through us and through other people's programs: equal trees.
//!
//! Writers: Python's zipfile and tarfile, GNU tar, bsdtar. Readers: unzip, bsdtar, GNU tar, Python. Real
//! archives: the `.crate` files that building this workspace has put into cargo's cache, and the wheel
//! of pip that Python carries. Only contents and executable bits are compared: owners, times and other
//! mode bits are not restored here, by policy. Where a program is not installed the test says so, and
//! fails in continuous integration.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use stream_extract::{DirectorySink, Extractor, Limits, Policy, Scratch};

use crate::made;

type Files = BTreeMap<String, (Vec<u8>, bool)>;

fn files(root: &Path) -> Files {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = Files::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let executable = path.metadata().unwrap().permissions().mode() & 0o111 != 0;
            found.insert(name, (fs::read(path).unwrap(), executable));
        }
    }
    found
}

/// Runs a program; false when it is not installed.
#[expect(clippy::print_stdout, reason = "what was not compared is said")]
fn run(command: &mut Command) -> bool {
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {text}");
            true
        }
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{command:?}: {error}");
            println!("not compared, because it is not installed: {command:?}");
            false
        }
    }
}

/// A tree with what archives disagree about: sizes, modes, long and odd names.
fn sample(root: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let long = format!("{}/{}", "l".repeat(90), "n".repeat(120));
    let names = ["a", "dir/b c", "dir/sub/umläut", "run.sh", &long, "empty"];
    for (name, size) in names.into_iter().zip([10, 65_536, 65_537, 20, 300, 0]) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, made::noise(size)).unwrap();
    }
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn ours(archive: &Path, target: &Path) {
    let bytes = fs::read(archive).unwrap();
    let sink = DirectorySink::create(target).unwrap();
    let extractor = Extractor::new().policy(Policy::portable().native_names());
    let extractor = extractor.limits(Limits::default());
    let mut scratch = Scratch::new();
    let name = archive.file_name().unwrap().to_str().unwrap();
    let report = match name.rsplit('.').next() {
        Some("zip" | "whl") => extractor.zip_stream(&bytes[..], &mut scratch, sink),
        Some("tar") => extractor.tar(&bytes[..], &mut scratch, sink),
        _ => extractor.tar_gz(&bytes[..], &mut scratch, sink),
    };
    report.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Extracts with us and with `reader`, and compares.
fn compare(archive: &Path, work: &Path, reader: &str, command: impl FnOnce(&Path) -> Command) {
    let name = archive.file_name().unwrap().to_str().unwrap();
    let (mine, theirs) =
        (work.join(format!("{name}-{reader}-ours")), work.join(format!("{name}-{reader}")));
    fs::create_dir(&theirs).unwrap();
    if !run(&mut command(&theirs)) {
        return;
    }
    ours(archive, &mine);
    let (mine, theirs) = (files(&mine), files(&theirs));
    assert_eq!(mine.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{name}");
    for (path, (content, executable)) in &mine {
        assert_eq!(content, &theirs[path].0, "{name}: {path}, {reader}");
        // Python's own extraction drops modes.
        assert!(reader == "python" || *executable == theirs[path].1, "{name}: {path}, {reader}");
    }
}

fn compare_zip(archive: &Path, work: &Path) {
    compare(archive, work, "unzip", |target| {
        let mut command = Command::new("unzip");
        command.env("LC_ALL", "C.UTF-8").arg("-qq").arg(archive).arg("-d").arg(target);
        command
    });
    compare(archive, work, "bsdtar", |target| {
        let mut command = Command::new("bsdtar");
        command.env("LC_ALL", "C.UTF-8").arg("-xf").arg(archive).arg("-C").arg(target);
        command
    });
    compare(archive, work, "python", |target| {
        let mut command = Command::new("python3");
        command.args(["-m", "zipfile", "-e"]).arg(archive).arg(target);
        command
    });
}

fn compare_tar(archive: &Path, work: &Path) {
    for program in ["tar", "bsdtar"] {
        compare(archive, work, program, |target| {
            let mut command = Command::new(program);
            command.env("LC_ALL", "C.UTF-8").arg("-xf").arg(archive).arg("-C").arg(target);
            command
        });
    }
}

fn python(script: &str, source: &Path, archive: &Path) -> bool {
    run(Command::new("python3").args(["-c", script]).arg(source).arg(archive))
}

const PYTHON_ZIP: &str = "
import os, sys, zipfile
root, out = sys.argv[1:]
with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as z:
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            z.write(path, os.path.relpath(path, root))
";

/// To a pipe, so every entry has a data descriptor; every other one with ZIP64 fields.
const PYTHON_PIPED_ZIP: &str = "
import io, os, sys, zipfile
class Pipe(io.RawIOBase):
    def __init__(self, f): self.f = f
    def writable(self): return True
    def write(self, b): return self.f.write(b)
root, out = sys.argv[1:]
with open(out, 'wb') as f, zipfile.ZipFile(Pipe(f), 'w', zipfile.ZIP_DEFLATED) as z:
    n = 0
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            info = zipfile.ZipInfo.from_file(path, os.path.relpath(path, root))
            info.compress_type = zipfile.ZIP_DEFLATED
            n += 1
            with open(path, 'rb') as src, z.open(info, 'w', force_zip64=n % 2 == 0) as dst:
                dst.write(src.read())
";

#[test]
fn zips_of_other_writers_give_what_other_readers_give() {
    let work = tempfile::tempdir().unwrap();
    let work = work.path();
    let source = work.join("source");
    sample(&source);
    let mut archives = Vec::new();
    for (name, script) in [("python.zip", PYTHON_ZIP), ("piped.zip", PYTHON_PIPED_ZIP)] {
        let archive = work.join(name);
        if python(script, &source, &archive) {
            archives.push(archive);
        }
    }
    for archive in archives {
        compare_zip(&archive, work);
    }
}

#[test]
fn tars_of_other_writers_give_what_other_readers_give() {
    let work = tempfile::tempdir().unwrap();
    let work = work.path();
    let source = work.join("source");
    sample(&source);
    for (program, format) in
        [("tar", "gnu"), ("tar", "pax"), ("bsdtar", "pax"), ("bsdtar", "gnutar")]
    {
        let archive = work.join(format!("{program}-{format}.tar"));
        let mut command = Command::new(program);
        command.env("LC_ALL", "C.UTF-8").arg(format!("--format={format}"));
        command.arg("-cf").arg(&archive).arg("-C").arg(&source).arg(".");
        if run(&mut command) {
            compare_tar(&archive, work);
        }
    }
}

/// `.crate` files in cargo's cache; building this workspace has put some there.
fn crates() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let cache = home.and_then(|home| fs::read_dir(home.join("registry/cache")).ok());
    let folders =
        cache.into_iter().flatten().filter_map(|entry| fs::read_dir(entry.ok()?.path()).ok());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| folder.filter_map(|file| Some(file.ok()?.path())))
        .filter(|path| path.extension().is_some_and(|extension| extension == "crate"))
        .collect();
    files.sort_by_key(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()));
    files.into_iter().step_by(25).take(16).collect()
}

#[test]
fn real_crates_give_what_tar_gives() {
    let work = tempfile::tempdir().unwrap();
    let crates = crates();
    for archive in &crates {
        compare_tar(archive, work.path());
    }
    println!("compared {} crates", crates.len());
}

#[test]
fn the_wheel_that_python_carries_gives_what_unzip_gives() {
    let work = tempfile::tempdir().unwrap();
    let find = "import ensurepip, glob, os; print(*glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), '_bundled', '*.whl')), sep='\\n')";
    let Ok(output) = Command::new("python3").args(["-c", find]).output() else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for wheel in text.lines() {
        compare_zip(Path::new(wheel), work.path());
    }
    println!("compared {} wheels", text.lines().count());
}
