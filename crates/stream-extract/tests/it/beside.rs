//! A second thread for the digests changes when they are computed, and nothing else.

use std::io::{BufRead, Cursor};
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use stream_extract::{Done, Entry, Extractor, Result, Scratch, Sink, SinkError, Summary};

use crate::made;
use crate::raw_zip::{End, archive_with, deflated};
use crate::recorder::{Log, Recorder};

fn beside() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.hash_beside().unwrap();
    scratch
}

fn extractor(sha256: bool) -> Extractor<'static> {
    Extractor::new().sha256(sha256)
}

#[derive(Debug, PartialEq)]
struct Seen {
    calls: Vec<String>,
    error: Option<String>,
    summary: Option<Summary>,
}

/// Everything that can be seen of an extraction but who hashed; also how many files were hashed beside.
fn seen(read: impl FnOnce(Recorder<'_>) -> Result<Summary>) -> (Seen, u64) {
    let log = Log::default();
    let (mut summary, error) = match read(Recorder { log: &log }) {
        Ok(summary) => (Some(summary), None),
        Err(error) => (None, Some(format!("{error:?}"))),
    };
    let beside = summary.as_mut().map_or(0, |s| std::mem::take(&mut s.files_hashed_beside));
    (Seen { calls: log.calls.take(), error, summary }, beside)
}

fn all(zip: &[u8], tar_gz: &[u8], sha256: bool, scratch: &mut Scratch) -> [(Seen, u64); 3] {
    [
        seen(|sink| Ok(extractor(sha256).zip_stream(zip, scratch, sink)?.summary)),
        seen(|sink| Ok(extractor(sha256).zip_seek(Cursor::new(zip), scratch, sink)?.summary)),
        seen(|sink| Ok(extractor(sha256).tar_gz(tar_gz, scratch, sink)?.summary)),
    ]
}

/// Around the buffer, around where the thread is used, and more than the ring holds.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    const EDGES: &[usize] =
        &[0, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577, 1_114_112, 1_310_720];
    let size = prop_oneof![prop::sample::select(EDGES), 0..1_400_000_usize];
    prop::collection::vec(size, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn hashing_beside_changes_nothing_that_can_be_seen(
        sizes in sizes(),
        cut in prop_oneof![Just(1.0), 0.0..1.0],
        sha256 in any::<bool>(),
    ) {
        let noise = made::noise(1_400_000);
        let names: Vec<String> = (0..sizes.len()).map(|i| format!("folder/{i}")).collect();
        let entries: Vec<_> =
            names.iter().zip(&sizes).map(|(name, &size)| (&name[..], &noise[..size], false)).collect();
        let (zip, tar_gz) = (made::zip(&entries), made::tar_gz(&entries));
        let (zip, tar_gz) = (part(&zip, cut), part(&tar_gz, cut));
        let mut scratch = beside(); // One for all: nothing of an archive that broke off may stay.
        let large = sizes.iter().filter(|&&size| size >= 1_048_576).count() as u64;
        for round in 0..2 {
            let (alone, with) = (
                all(zip, tar_gz, sha256, &mut Scratch::new()),
                all(zip, tar_gz, sha256, &mut scratch),
            );
            for ((alone, inline), (with, moved)) in alone.into_iter().zip(with) {
                prop_assert_eq!(&alone, &with, "round {}", round);
                prop_assert_eq!(inline, 0);
                prop_assert!(moved == large || alone.error.is_some());
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
#[expect(clippy::cast_precision_loss, reason = "any part will do")]
fn part(bytes: &[u8], part: f64) -> &[u8] {
    &bytes[..(bytes.len() as f64 * part) as usize]
}

#[test]
fn a_size_that_is_a_lie_is_refused_by_both() {
    let content = made::noise(1_200_000);
    for (told, content) in [(1_200_000, &content[..90_000]), (90_000, &content[..])] {
        let entry = deflated("lie", content).with(|raw| raw.truth[2] = told);
        let zip = archive_with(&[entry], &End::default());
        let (alone, _) = seen(|sink| stream(&zip[..], &mut Scratch::new(), sink));
        let (with, _) = seen(|sink| stream(&zip[..], &mut beside(), sink));
        assert_eq!(alone, with);
        assert!(alone.error.unwrap().contains("size of the entry"));
    }
}

fn stream(reader: impl BufRead, scratch: &mut Scratch, sink: impl Sink) -> Result<Summary> {
    Ok(Extractor::new().zip_stream(reader, scratch, sink)?.summary)
}

#[test]
fn a_file_whose_size_is_told_behind_it_is_hashed_inline() {
    let zip = archive_with(
        &[deflated("late", &made::noise(1_200_000)).with_descriptor(true, false)],
        &End::default(),
    );
    let (alone, _) = seen(|sink| stream(&zip[..], &mut Scratch::new(), sink));
    let (with, moved) = seen(|sink| stream(&zip[..], &mut beside(), sink));
    assert_eq!((alone, 0), (with, moved));
}

#[test]
fn a_file_is_hashed_beside_from_one_mebibyte_on() {
    let noise = made::noise((1 << 20) + 1);
    let counts = [(1 << 20) - 1, 1 << 20, (1 << 20) + 1].map(|size| {
        let zip = made::zip(&[("a", &noise[..size], false)]);
        seen(|sink| stream(&zip[..], &mut beside(), sink)).1
    });
    assert_eq!(counts, [0, 1, 1]);
}

#[test]
fn no_thread_is_woken_for_a_checksum() {
    let zip = made::zip(&[("a", &made::noise(1 << 20), false)]);
    let extractor = Extractor::new().blake3(false);
    let (_, moved) = seen(|sink| Ok(extractor.zip_stream(&zip[..], &mut beside(), sink)?.summary));
    assert_eq!(moved, 0);
}

#[test]
fn threads_may_each_have_one() {
    let noise = made::noise(1_100_000);
    let names: Vec<String> = (0..12).map(|i| format!("{i}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (&name[..], &noise[..], false)).collect();
    let zip = made::zip(&entries);
    let mut scratches = [beside(), beside()];
    let folder = tempfile::tempdir().unwrap();
    let sink = stream_extract::DirectorySink::create(folder.path().join("tree")).unwrap();
    let report = Extractor::new().zip_parallel(&zip[..], &mut scratches, sink).unwrap();
    assert_eq!((report.summary.files, report.summary.files_hashed_beside), (12, 12));
    for name in &names {
        assert_eq!(std::fs::read(report.committed.join(name)).unwrap(), noise, "{name}");
    }
}

/// Panics, or fails, in the `left`th call of `chunk`.
struct Breaking {
    left: u32,
    panics: bool,
}

impl Sink for Breaking {
    type File = ();
    type Committed = ();

    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn begin(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn chunk(&mut self, (): &mut (), _: &[u8]) -> Result<(), SinkError> {
        self.left -= 1;
        assert!(self.left > 0 || !self.panics, "the sink panics");
        if self.left == 0 { Err("the sink fails".into()) } else { Ok(()) }
    }

    fn end(&mut self, (): (), _: &Done) -> Result<(), SinkError> {
        unreachable!("the file is never complete")
    }

    fn late_exec(&mut self, _: &Entry<'_>, _: bool) -> Result<(), SinkError> {
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<(), SinkError> {
        unreachable!("nothing is committed")
    }
}

#[test]
fn a_scratch_serves_on_after_a_sink_that_failed_or_panicked() {
    let zip = made::zip(&[("large", &made::noise(1_200_000), false)]);
    let (good, _) = seen(|sink| stream(&zip[..], &mut Scratch::new(), sink));
    let mut scratch = beside();
    for left in 1..=18 {
        for panics in [true, false] {
            let sink = Breaking { left, panics };
            let broken = catch_unwind(AssertUnwindSafe(|| stream(&zip[..], &mut scratch, sink)));
            assert_eq!(broken.is_err(), panics, "call {left}");
            let (with, moved) = seen(|sink| stream(&zip[..], &mut scratch, sink));
            assert_eq!((&with, moved), (&good, 1), "after call {left}");
        }
    }
}
