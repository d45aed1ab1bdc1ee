//! A tar writer that can lie.

/// One block: a header with a right checksum.
pub(crate) fn header(name: &[u8], kind: u8, size: u64, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..107].copy_from_slice(b"0000644");
    block[108..115].copy_from_slice(b"0000000");
    block[116..123].copy_from_slice(b"0000000");
    block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    block[136..147].copy_from_slice(b"00000000000");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    change(&mut block);
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Bytes, filled up to the next block.
pub(crate) fn padded(content: &[u8]) -> Vec<u8> {
    let mut out = content.to_vec();
    out.resize(content.len().next_multiple_of(512), 0);
    out
}

/// A header and its content.
pub(crate) fn entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    [header(name, kind, content.len() as u64, |_| ()), padded(content)].concat()
}

pub(crate) fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(name.as_bytes(), b'0', content)
}

/// A link: `1` is hard, `2` symbolic.
pub(crate) fn link(name: &str, kind: u8, target: &str) -> Vec<u8> {
    header(name.as_bytes(), kind, 0, |block| {
        block[157..157 + target.len()].copy_from_slice(target.as_bytes());
    })
}

/// A PAX header with these pairs.
pub(crate) fn pax(kind: u8, pairs: &[(&str, &str)]) -> Vec<u8> {
    let record: Vec<u8> = pairs.iter().flat_map(|(key, value)| pair(key, value)).collect();
    entry(b"PaxHeader", kind, &record)
}

fn pair(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length.to_string().len() + rest.len() != length {
        length += 1;
    }
    format!("{length}{rest}").into_bytes()
}

/// Entries and the two closing blocks.
pub(crate) fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = entries.concat();
    out.extend([0; 1024]);
    out
}
