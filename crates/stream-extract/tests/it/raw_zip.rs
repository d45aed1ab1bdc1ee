//! A zip writer that can lie: every field of every record may be set.

use std::io::Write as _;

#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) name: Vec<u8>,
    pub(crate) central_name: Option<Vec<u8>>,
    pub(crate) method: u16,
    pub(crate) central_method: Option<u16>,
    pub(crate) flags: u16,
    pub(crate) central_flags: Option<u16>,
    /// The bytes behind the local header.
    pub(crate) data: Vec<u8>,
    /// Checksum, compressed size, size: as they are, and as the headers say.
    pub(crate) truth: [u32; 3],
    pub(crate) local: Option<[u32; 3]>,
    pub(crate) central: Option<[u32; 3]>,
    pub(crate) local_extra: Vec<u8>,
    pub(crate) central_extra: Vec<u8>,
    pub(crate) descriptor: Vec<u8>,
    pub(crate) made_by: u16,
    pub(crate) external: u32,
    pub(crate) disk: u16,
    pub(crate) offset: Option<u32>,
    pub(crate) in_local: bool,
    pub(crate) in_central: bool,
}

pub(crate) const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;
pub(crate) const DESCRIPTOR: u16 = 8;

pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn len32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}

fn len16(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap().to_le_bytes()
}

/// A regular file, stored.
pub(crate) fn stored(name: impl AsRef<[u8]>, content: &[u8]) -> Raw {
    raw(name.as_ref(), STORED, content, content.to_vec())
}

/// A regular file, deflated.
pub(crate) fn deflated(name: impl AsRef<[u8]>, content: &[u8]) -> Raw {
    raw(name.as_ref(), DEFLATED, content, deflate(content))
}

fn raw(name: &[u8], method: u16, content: &[u8], data: Vec<u8>) -> Raw {
    let truth = [crc32fast::hash(content), len32(&data), len32(content)];
    Raw {
        name: name.to_vec(),
        central_name: None,
        method,
        central_method: None,
        flags: 0,
        central_flags: None,
        data,
        truth,
        local: None,
        central: None,
        local_extra: Vec::new(),
        central_extra: Vec::new(),
        descriptor: Vec::new(),
        made_by: 3 << 8,
        external: 0o100_644 << 16,
        disk: 0,
        offset: None,
        in_local: true,
        in_central: true,
    }
}

impl Raw {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Moves checksum and sizes behind the data, in one of the four shapes.
    pub(crate) fn with_descriptor(self, signed: bool, wide: bool) -> Self {
        let [crc32, packed, size] = self.truth;
        let mut descriptor = Vec::new();
        if signed {
            descriptor.extend(b"PK\x07\x08");
        }
        descriptor.extend(crc32.to_le_bytes());
        for value in [packed, size] {
            descriptor.extend(value.to_le_bytes());
            if wide {
                descriptor.extend([0; 4]);
            }
        }
        self.with(|raw| {
            raw.flags |= DESCRIPTOR;
            raw.local = Some([0; 3]);
            raw.descriptor = descriptor;
        })
    }

    fn local_record(&self) -> Vec<u8> {
        let mut out = b"PK\x03\x04\x14\x00".to_vec();
        out.extend(self.flags.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend([0, 0, 0x21, 0]);
        self.local.unwrap_or(self.truth).iter().for_each(|value| out.extend(value.to_le_bytes()));
        out.extend(len16(&self.name));
        out.extend(len16(&self.local_extra));
        out.extend(&self.name);
        out.extend(&self.local_extra);
        out.extend(&self.data);
        out.extend(&self.descriptor);
        out
    }

    fn central_record(&self, offset: u32) -> Vec<u8> {
        let name = self.central_name.as_ref().unwrap_or(&self.name);
        let mut out = b"PK\x01\x02\x14".to_vec();
        out.extend([u8::try_from(self.made_by >> 8).unwrap(), 0x14, 0]);
        out.extend(self.central_flags.unwrap_or(self.flags).to_le_bytes());
        out.extend(self.central_method.unwrap_or(self.method).to_le_bytes());
        out.extend([0, 0, 0x21, 0]);
        self.central.unwrap_or(self.truth).iter().for_each(|value| out.extend(value.to_le_bytes()));
        out.extend(len16(name));
        out.extend(len16(&self.central_extra));
        out.extend([0; 2]);
        out.extend(self.disk.to_le_bytes());
        out.extend([0; 2]);
        out.extend(self.external.to_le_bytes());
        out.extend(self.offset.unwrap_or(offset).to_le_bytes());
        out.extend(name);
        out.extend(&self.central_extra);
        out
    }
}

/// The end of an archive, which may lie.
#[derive(Clone, Default)]
pub(crate) struct End {
    pub(crate) comment: Vec<u8>,
    pub(crate) entries: Option<u16>,
    pub(crate) central_len: Option<u32>,
    pub(crate) central_offset: Option<u32>,
    pub(crate) disk: u16,
    /// Adds the ZIP64 records.
    pub(crate) wide: bool,
    pub(crate) wide_entries: Option<u64>,
    pub(crate) locator_offset: Option<u64>,
    pub(crate) extensible: Vec<u8>,
    /// Bytes that will be put in front of the directory afterwards.
    pub(crate) shift: u64,
}

pub(crate) fn archive(entries: &[Raw]) -> Vec<u8> {
    archive_with(entries, &End::default())
}

pub(crate) fn archive_with(entries: &[Raw], end: &End) -> Vec<u8> {
    let mut out = Vec::new();
    let mut central = Vec::new();
    for entry in entries {
        if entry.in_central {
            central.extend(entry.central_record(len32(&out)));
        }
        if entry.in_local {
            out.extend(entry.local_record());
        }
    }
    let start = len32(&out);
    out.extend(&central);
    let count = entries.iter().filter(|entry| entry.in_central).count();
    let count = u16::try_from(count).unwrap();
    if end.wide {
        wide_end(&mut out, end, count, &central, start);
    }
    out.extend(b"PK\x05\x06");
    out.extend(end.disk.to_le_bytes());
    out.extend([0; 2]);
    out.extend(end.entries.unwrap_or(count).to_le_bytes());
    out.extend(end.entries.unwrap_or(count).to_le_bytes());
    out.extend(end.central_len.unwrap_or(len32(&central)).to_le_bytes());
    out.extend(end.central_offset.unwrap_or(start).to_le_bytes());
    out.extend(len16(&end.comment));
    out.extend(&end.comment);
    out
}

fn wide_end(out: &mut Vec<u8>, end: &End, count: u16, central: &[u8], start: u32) {
    let record = out.len() as u64 + end.shift;
    out.extend(b"PK\x06\x06");
    out.extend((44 + end.extensible.len() as u64).to_le_bytes());
    out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let entries = end.wide_entries.unwrap_or(count.into());
    out.extend(entries.to_le_bytes());
    out.extend(entries.to_le_bytes());
    out.extend((central.len() as u64).to_le_bytes());
    out.extend((u64::from(start) + end.shift).to_le_bytes());
    out.extend(&end.extensible);
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(end.locator_offset.unwrap_or(record).to_le_bytes());
    out.extend(1_u32.to_le_bytes());
}

/// An extra field.
pub(crate) fn extra(id: u16, content: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes(), &len16(content)[..], content].concat()
}

/// A ZIP64 extra field.
pub(crate) fn zip64(values: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    extra(1, &bytes)
}
