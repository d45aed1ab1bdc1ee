//! On a file system whose close is slow, or fails, for real.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use deferred_close::{Closer, FileSystem, Group, Policy, Synced, Threads, close_inline};
use slowfs::{Close, How, SlowFs};
use tempfile::TempDir;

use crate::fixture::{eager, watched};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Fails, never skips, where FUSE is missing.
struct Mounted {
    fs: SlowFs,
    _dir: TempDir,
}

impl Mounted {
    fn new(close: Close) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let fs = SlowFs::mount(dir.path(), close, 4).expect("FUSE works here");
        Self { fs, _dir: dir }
    }

    fn file(&self, name: &str) -> (PathBuf, File) {
        let path = self.fs.path().join(name);
        let mut file = File::create(&path).expect("created");
        file.write_all(name.as_bytes()).expect("written");
        (path, file)
    }
}

fn ms(takes: u64) -> Close {
    Close::waits(Duration::from_millis(takes))
}

#[test]
fn every_injected_error_is_told_however_it_is_closed() {
    watched(|| {
        let mounted = Mounted::new(ms(1).failing(7, EIO));
        for closer in [
            eager(4).build(),
            Closer::builder().policy(Policy::Never).build(),
            Closer::builder().max_pending(2).policy(Policy::Always).build(),
            Closer::default(),
        ] {
            let failed_before = mounted.fs.closes().1;
            let errors = closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for number in 0..210 {
                        let (path, file) = mounted.file(&number.to_string());
                        group.close(file, path);
                    }
                })
                .unwrap_err();
            assert_eq!(errors.len(), 30, "{closer:?}");
            assert_eq!(mounted.fs.closes().1 - failed_before, 30);
            assert!(errors.iter().all(|e| e.io_error().raw_os_error() == Some(EIO)));
        }
    });
}

#[test]
fn the_error_of_the_very_last_close_is_told() {
    let mounted = Mounted::new(ms(2).failing(50, ENOSPC));
    let errors = eager(4)
        .build()
        .scope(|scope| {
            let group = scope.group("g");
            for number in 0..50 {
                // Alone in the queue, so that it is the last one to come back as well.
                if number == 49 {
                    group.wait().unwrap();
                }
                let (path, file) = mounted.file(&number.to_string());
                group.close(file, path);
            }
        })
        .unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors.first().is_storage_full());
    assert!(errors.first().path().starts_with(mounted.fs.path()));
}

#[test]
fn a_checked_close_tells_the_full_disk_that_a_drop_loses() {
    let mounted = Mounted::new(ms(0).failing(1, ENOSPC));
    drop(mounted.file("dropped").1);
    assert_eq!(mounted.fs.closes(), (1, 1), "the error was there, and nobody has it");
    let error = close_inline(mounted.file("checked").1).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_wait_returns_after_the_file_system_has_answered() {
    let mounted = Mounted::new(ms(5));
    eager(4)
        .build()
        .scope(|scope| {
            for package in 0..5 {
                let group = scope.group("package");
                let stage = mounted.fs.path().join("stage");
                fs::create_dir(&stage).unwrap();
                for number in 0..20 {
                    let (path, file) = mounted.file(&format!("stage/{number}"));
                    group.close(file, path);
                }
                group.wait().unwrap();
                assert_eq!(mounted.fs.closes().0, 20 * (package + 1));
                fs::rename(&stage, mounted.fs.path().join(package.to_string())).unwrap();
            }
        })
        .unwrap();
}

/// The ways to hand a file over; true when it was closed at once.
type Way = fn(&Group<'_>, (PathBuf, File)) -> bool;

const WAYS: [Way; 2] = [
    |group, (path, file)| group.close(file, path).is_inline(),
    |group, (path, file)| group.close_then(file, path, |closed| closed).is_inline(),
];

#[test]
fn the_adaptive_policy_defers_here_after_three_slow_closes() {
    for close in WAYS {
        let mounted = Mounted::new(ms(5));
        let closer = Closer::default();
        let inline = closer
            .scope(|scope| {
                let group = scope.group("g");
                (0..40).filter(|number| close(&group, mounted.file(&number.to_string()))).count()
            })
            .unwrap();
        assert_eq!(inline, 3);
        assert_eq!(closer.stats().deferred, 37);
    }
}

#[test]
fn the_adaptive_policy_returns_to_the_caller_once_closing_is_quick() {
    watched(|| {
        for close in WAYS {
            let mounted = Mounted::new(ms(20));
            // Far above what FUSE itself needs, on a crowded machine too.
            let closer = Closer::builder().defer_above(Duration::from_millis(8)).build();
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    let mut files = (0..).map(|number: u32| mounted.file(&number.to_string()));
                    assert!(files.by_ref().take(20).any(|file| !close(&group, file)));
                    group.wait().unwrap();
                    mounted.fs.set(ms(0));
                    // The watchdog ends this if it never happens.
                    assert!(files.any(|file| close(&group, file)));
                })
                .unwrap();
        }
    });
}

#[test]
fn closes_that_compute_and_closes_that_queue_all_end() {
    watched(|| {
        let mounted = Mounted::new(ms(1).how(How::Computes));
        let closer = Closer::builder().threads(Threads::Auto { max: 16 }).build();
        for how in [How::Computes, How::Queues(2)] {
            mounted.fs.set(ms(1).how(how));
            let before = mounted.fs.closes().0;
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for number in 0..200 {
                        let (path, file) = mounted.file(&number.to_string());
                        group.close(file, path);
                    }
                })
                .unwrap();
            assert_eq!(mounted.fs.closes().0 - before, 200);
        }
    });
}

#[test]
fn an_executable_is_closed_on_the_callers_thread_by_default() {
    let mounted = Mounted::new(ms(1));
    let create = |name: &str, mode: u32| {
        let path = mounted.fs.path().join(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).unwrap();
        (path, file)
    };
    for (defer, inline_expected) in [(false, true), (true, false)] {
        let closer = eager(2).defer_executables(defer).build();
        closer
            .scope(|scope| {
                let group = scope.group("g");
                let (path, file) = create(&format!("tool-{defer}"), 0o755);
                assert_eq!(group.close(file, path).is_inline(), inline_expected);
                let (path, file) = create(&format!("data-{defer}"), 0o644);
                assert!(!group.close(file, path).is_inline());
                let (path, file) = create(&format!("told-{defer}"), 0o644);
                assert!(group.close_executable(file, path).is_inline());
            })
            .unwrap();
        assert_eq!(closer.stats().inline_executable, 1 + u64::from(inline_expected));
    }
}

#[test]
fn synced_files_are_deferred_and_their_errors_told() {
    let mounted = Mounted::new(ms(0).failing(4, EIO));
    let disk = FileSystem::of(mounted.fs.path()).unwrap();
    let closer = Closer::default();
    let errors = closer
        .scope(|scope| {
            let group = scope.group("g");
            for number in 0..8 {
                let (path, file) = mounted.file(&number.to_string());
                if number % 2 == 0 {
                    group.close(Synced(file), path);
                } else {
                    group.close(Synced(io::BufWriter::new(file)), path);
                }
            }
        })
        .unwrap_err();
    assert_eq!(errors.len(), 2);
    assert_eq!(closer.stats().deferred, 8);
    disk.sync().unwrap();
}

#[test]
fn a_buffer_that_cannot_be_written_tells_so_and_still_closes_its_file() {
    let mounted = Mounted::new(ms(0));
    let (path, file) = mounted.file("f");
    drop(file);
    let before = mounted.fs.closes().0;
    // Open for reading only: the flush fails.
    let mut writer = io::BufWriter::new(File::open(&path).unwrap());
    writer.write_all(b"late").unwrap();
    let told = eager(1)
        .build()
        .scope(|scope| scope.group("g").close(writer, Path::new("f")).is_inline())
        .unwrap_err();
    assert_eq!(told.first().io_error().raw_os_error(), Some(9));
    assert_eq!(mounted.fs.closes().0, before + 1);
}
