//! The worked example of the format document is what the code writes.

use crate::put::Put;
use crate::record;

/// The bytes of the hex dump in the document.
fn documented() -> Vec<u8> {
    let doc = include_str!("../../docs/FORMAT.md");
    let section = doc.split("## A worked example").nth(1).unwrap();
    let dump = section.split("```").nth(1).unwrap();
    let lines = dump.lines().filter_map(|line| line.split_once(": "));
    let digits = lines.flat_map(|(_, line)| line.split("  ").next().unwrap().chars());
    let digits: Vec<u32> = digits.filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

#[test]
fn the_worked_example_is_what_the_code_writes() {
    let mut log = Vec::new();
    let put = Put::new().token(b"etag: 1").body(b"ab").slice_in_body("1.0.0", 3, 0..1);
    record::append_put(&mut log, "serde", &put);
    assert_eq!(documented(), log, "{log:02x?}");
}
