//! Sinks, threads, cancellation, progress.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use stream_extract::{
    Closer, DirectorySink, Done, Entry, Extractor, Progress, ReadAt, Scratch, Sink, SinkError,
    Summary, VerifySink,
};

use crate::made;

fn many() -> Vec<u8> {
    let contents: Vec<_> = (0..200)
        .map(|i| (format!("d{}/e{}/f{i}", i % 7, i % 3), made::noise(i * 700), i % 5 == 0))
        .collect();
    let entries: Vec<_> = contents.iter().map(|(n, c, x)| (n.as_str(), &c[..], *x)).collect();
    made::zip(&entries)
}

/// Paths, contents and modes below a folder.
fn snapshot(root: &Path) -> Vec<(String, Vec<u8>, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let mode = mode(&path);
            if path.is_dir() {
                found.push((name, Vec::new(), mode));
                folders.push(path);
            } else {
                found.push((name, fs::read(path).unwrap(), mode));
            }
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().unwrap().mode()
}

/// There are none.
#[cfg(not(unix))]
fn mode(_: &Path) -> u32 {
    0
}

#[test]
fn threads_make_the_same_tree() {
    let folder = tempfile::tempdir().unwrap();
    let zip = many();
    let (one, three) = (folder.path().join("one"), folder.path().join("three"));
    let sink = DirectorySink::create(&one).unwrap();
    let serial = Extractor::new().zip_stream(&zip[..], &mut Scratch::new(), sink).unwrap();
    let mut scratches = [Scratch::new(), Scratch::new(), Scratch::new()];
    let file = folder.path().join("a.zip");
    fs::write(&file, &zip).unwrap();
    let sink = DirectorySink::create(&three).unwrap();
    let file = File::open(file).unwrap();
    let parallel = Extractor::new().zip_parallel(&file, &mut scratches, sink).unwrap();
    assert_eq!(snapshot(&one), snapshot(&three));
    assert_eq!(serial.summary, parallel.summary);
}

/// Counts how often and how much it was read.
struct Counted<'a> {
    bytes: &'a [u8],
    calls: AtomicU64,
    read: AtomicU64,
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read_at(offset, out)?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }
}

#[test]
fn threads_read_small_entries_many_at_a_time_and_each_byte_about_once() {
    let small = made::noise(500);
    let names: Vec<_> = (0..400).map(|i| format!("f{i}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), &small[..], false)).collect();
    let archive = made::zip(&entries);
    let (calls, read) = (AtomicU64::new(0), AtomicU64::new(0));
    let source = Counted { bytes: &archive, calls, read };
    let mut scratches = [Scratch::new()];
    let report = Extractor::new().zip_parallel(&source, &mut scratches, VerifySink::new()).unwrap();
    let (calls, read) = (source.calls.into_inner(), source.read.into_inner());
    assert!(
        calls < report.summary.entries / 4,
        "{calls} reads of {} entries",
        report.summary.entries
    );
    let once = archive.len() as u64;
    assert!(read < once * 2, "{read} bytes read of {once}");
}

#[test]
fn threads_check_the_digest_and_report_progress() {
    let zip = many();
    let mut scratches = [Scratch::new(), Scratch::new()];
    let error = Extractor::new()
        .expect_sha256([0; 32])
        .zip_parallel(&zip[..], &mut scratches, VerifySink::new())
        .unwrap_err();
    assert!(error.is_digest_mismatch(), "{error}");
    let mut last = 0;
    let mut progress = |now: Progress| last = last.max(now.archive_bytes);
    let extractor = Extractor::new().progress(&mut progress);
    extractor.zip_parallel(&zip[..], &mut scratches[..1], VerifySink::new()).unwrap();
    assert!(last > 0 && last <= zip.len() as u64);
}

#[test]
fn a_raised_flag_stops_every_mode() {
    let flag = AtomicBool::new(true);
    let zip = many();
    let mut scratches = [Scratch::new(), Scratch::new()];
    let extractor = || Extractor::new().cancel(&flag);
    let stream = extractor().zip_stream(&zip[..], &mut scratches[0], VerifySink::new());
    assert!(stream.unwrap_err().is_cancelled());
    let parallel = extractor().zip_parallel(&zip[..], &mut scratches, VerifySink::new());
    assert!(parallel.unwrap_err().is_cancelled());
}

#[test]
fn progress_ends_at_the_size_of_the_archive() {
    let zip = made::zip(&[("a", &made::noise(900_000), false)]);
    let mut reports = Vec::new();
    let mut progress = |now: Progress| reports.push(now.archive_bytes);
    let extractor = Extractor::new().progress(&mut progress);
    extractor.zip_stream(&zip[..], &mut Scratch::new(), VerifySink::new()).unwrap();
    assert!(reports.len() >= 4 && reports.is_sorted(), "{reports:?}");
    assert_eq!(reports.last(), Some(&(zip.len() as u64)));
}

/// Remembers what it closed, and fails when told to.
#[derive(Default)]
struct Later {
    waiting: Mutex<Vec<(String, File)>>,
    closed: AtomicUsize,
    fails: bool,
}

impl Closer for Later {
    fn close(&self, path: &str, file: File, _: bool) -> io::Result<()> {
        self.waiting.lock().unwrap().push((path.to_owned(), file));
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        self.closed.store(self.waiting.lock().unwrap().drain(..).count(), Ordering::Relaxed);
        if self.fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

#[test]
fn a_closer_gets_every_file_before_the_folder_appears() {
    let folder = tempfile::tempdir().unwrap();
    let later = Later::default();
    let sink = DirectorySink::create(folder.path().join("target")).unwrap().closing_with(&later);
    let report = Extractor::new().zip_stream(&many()[..], &mut Scratch::new(), sink).unwrap();
    assert_eq!(later.closed.load(Ordering::Relaxed) as u64, report.summary.files);
}

#[test]
fn an_error_of_a_deferred_close_keeps_the_folder_from_appearing() {
    let folder = tempfile::tempdir().unwrap();
    let later = Later { fails: true, ..Later::default() };
    let sink = DirectorySink::create(folder.path().join("target")).unwrap().closing_with(&later);
    let error = Extractor::new().zip_stream(&many()[..], &mut Scratch::new(), sink).unwrap_err();
    assert!(error.is_sink(), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Fails at the n-th call of any kind.
struct FailsAt(usize);

impl FailsAt {
    fn step(&mut self) -> Result<(), SinkError> {
        self.0 = self.0.checked_sub(1).ok_or("this was the call to fail")?;
        Ok(())
    }
}

impl Sink for FailsAt {
    type File = ();
    type Committed = ();

    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        self.step()
    }

    fn begin(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        self.step()
    }

    fn chunk(&mut self, (): &mut (), _: &[u8]) -> Result<(), SinkError> {
        self.step()
    }

    fn end(&mut self, (): (), _: &Done) -> Result<(), SinkError> {
        self.step()
    }

    fn late_exec(&mut self, _: &Entry<'_>, _: bool) -> Result<(), SinkError> {
        self.step()
    }

    fn commit(mut self, _: &Summary) -> Result<(), SinkError> {
        self.step()
    }
}

#[test]
fn the_nth_failing_call_of_a_sink_is_reported() {
    let zip =
        made::zip(&[("d/", b"", false), ("d/a", b"x", false), ("b", &made::noise(70_000), true)]);
    let mut scratch = Scratch::new();
    let mut calls = 0;
    while let Err(error) = Extractor::new().zip_stream(&zip[..], &mut scratch, FailsAt(calls)) {
        assert!(error.is_sink(), "{error}");
        assert_eq!(
            std::error::Error::source(&error).unwrap().to_string(),
            "this was the call to fail"
        );
        calls += 1;
    }
    assert_eq!(calls, 11, "folder; begin, chunk, end; begin, two chunks, end; two bits; commit");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&disk)
        .status()
        .unwrap();
    assert!(mounted.success(), "tests run as root on Linux");
    let zip =
        made::zip(&[("a", &made::noise(600_000), false), ("b", &made::noise(600_000), false)]);
    let sink = DirectorySink::create(disk.join("target")).unwrap();
    let result = Extractor::new().zip_stream(&zip[..], &mut Scratch::new(), sink);
    let left = fs::read_dir(&disk).unwrap().count();
    std::process::Command::new("umount").arg(&disk).status().unwrap();
    let error = result.unwrap_err();
    assert!(error.is_sink() && error.entry_name() == Some("b"), "{error}");
    assert_eq!(left, 0);
}

#[test]
fn a_folder_that_appears_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let sink = DirectorySink::create(&target).unwrap();
    fs::create_dir(&target).unwrap();
    let zip = made::zip(&[("a", b"text", false)]);
    let error = Extractor::new().zip_stream(&zip[..], &mut Scratch::new(), sink).unwrap_err();
    assert!(error.is_sink(), "{error}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the private folder is gone");
}

/// A folder whose files others change, or that is told to make one twice.
#[cfg(unix)]
struct Meddled<'a> {
    inner: DirectorySink<'static>,
    parent: &'a Path,
    twice: bool,
}

#[cfg(unix)]
impl Sink for Meddled<'_> {
    type File = <DirectorySink<'static> as Sink>::File;
    type Committed = std::path::PathBuf;

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        self.inner.directory(entry)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Self::File, SinkError> {
        if self.twice {
            drop(self.inner.begin(entry)?);
        }
        self.inner.begin(entry)
    }

    fn chunk(&mut self, file: &mut Self::File, bytes: &[u8]) -> Result<(), SinkError> {
        self.inner.chunk(file, bytes)
    }

    fn end(&mut self, file: Self::File, done: &Done) -> Result<(), SinkError> {
        self.inner.end(file, done)
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        use std::os::unix::fs::PermissionsExt as _;
        let stage = fs::read_dir(self.parent)?.next().ok_or("there is no private folder")??;
        let file = stage.path().join("tree").join(entry.path());
        fs::set_permissions(file, fs::Permissions::from_mode(0o640))?; // As a umask of 027 does.
        self.inner.late_exec(entry, executable)
    }

    fn commit(self, summary: &Summary) -> Result<Self::Committed, SinkError> {
        self.inner.commit(summary)
    }
}

#[cfg(unix)]
fn meddle(twice: bool) -> stream_extract::Result<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let inner = DirectorySink::create(folder.path().join("target")).unwrap();
    let sink = Meddled { inner, parent: folder.path(), twice };
    let zip = made::zip(&[("a", b"text", true)]);
    let report = Extractor::new().zip_stream(&zip[..], &mut Scratch::new(), sink)?;
    let mode = report.committed.join("a").metadata().unwrap().permissions().mode();
    Ok(mode & 0o7777)
}

#[cfg(unix)]
#[test]
fn only_who_may_read_may_execute() {
    assert_eq!(meddle(false).unwrap(), 0o750);
}

#[cfg(unix)]
#[test]
fn a_file_is_made_anew_or_not_at_all() {
    let error = meddle(true).unwrap_err();
    assert!(error.is_sink(), "{error}");
}
