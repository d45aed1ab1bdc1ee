//! Files that earlier versions wrote stay readable, byte for byte as they were checked in.

use index_cache::{IndexCache, Options};
use std::path::Path;

fn open(name: &str) -> IndexCache {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    IndexCache::open(path, Options::new().schema(*b"golden file of format version 1.")).unwrap()
}

#[test]
fn the_golden_file_of_format_1_reads_as_it_was_written() {
    let cache = open("v1.ixc");
    let snapshot = cache.snapshot();
    let serde = snapshot.get("serde").unwrap().unwrap();
    assert_eq!(serde.token(), b"etag: \"2\"", "the token was changed by a touch");
    assert_eq!(serde.body().unwrap(), b"{\"vers\":\"1.0.0\"}\n{\"vers\":\"1.0.1\"}\n");
    assert_eq!(serde.slice("1.0.1").unwrap().unwrap(), &b"{\"vers\":\"1.0.1\"}"[..]);
    assert_eq!(serde.slice("summary").unwrap().unwrap(), &b"apart"[..]);
    let flags: Vec<_> = serde.slices().unwrap().map(|slice| (slice.name, slice.flags)).collect();
    assert_eq!(flags, [("1.0.0", 1), ("1.0.1", 0), ("summary", 0xffff)]);
    let negative = snapshot.get("sered").unwrap().unwrap();
    assert!(negative.is_negative() && negative.token() == b"404");
    assert!(snapshot.get("removed").unwrap().is_none());
    let many = (0..400).filter(|n| {
        let entry = snapshot.get(&format!("crate-{n}")).unwrap().unwrap();
        entry.body().unwrap() == n.to_string().as_bytes()
    });
    assert_eq!(many.count(), 400);
    assert!(cache.verify().unwrap().is_sound());
    assert_eq!(cache.stats().layers[0].leaves, 4);
}
