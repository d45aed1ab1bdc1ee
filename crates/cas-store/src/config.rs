//! The store's `config` file: settings that every process must agree on.
//!
//! Text, so that a person can read it. Bytes in, answer out: this module does no I/O.
//! Three numbers guard against other versions: the format that wrote it, the oldest reader that may
//! place from the store, and the oldest writer that may add to it (SQLite's separate read and write
//! versions). A program that is too old refuses before it touches anything.

use crate::digest::Executable;

/// What this crate writes, and the newest it understands.
pub(crate) const FORMAT: u32 = 1;

const MAGIC: &str = "cas-store config";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Config {
    /// The version that created the store.
    pub(crate) format: u32,
    /// The oldest version that may read it.
    pub(crate) reader: u32,
    /// The oldest version that may write to it.
    pub(crate) writer: u32,
    /// The permission bits of a plain object.
    pub(crate) plain_mode: u32,
    /// The permission bits of an executable object.
    pub(crate) executable_mode: u32,
    /// The file system's unit of time: 1, 100, or 1,000,000,000.
    pub(crate) time_unit_ns: u32,
}

impl Config {
    pub(crate) fn mode(&self, executable: Executable) -> u32 {
        match executable {
            Executable::No => self.plain_mode,
            Executable::Yes => self.executable_mode,
        }
    }

    pub(crate) fn encode(&self) -> String {
        let fields = self.fields();
        let mut text = format!("{MAGIC}\n");
        for (name, value) in FIELDS.iter().zip(fields) {
            let value =
                if name.ends_with("mode") { format!("{value:o}") } else { value.to_string() };
            text.extend([name, " = ", &value, "\n"]);
        }
        text
    }

    fn fields(&self) -> [u32; 6] {
        let Self { format, reader, writer, plain_mode, executable_mode, time_unit_ns } = *self;
        [format, reader, writer, plain_mode, executable_mode, time_unit_ns]
    }

    /// Reads `text`; lines that a newer version added are skipped, lines that are wanted must be there.
    pub(crate) fn decode(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return Err("the first line is not `cas-store config`");
        }
        let mut fields = [None; 6];
        for line in lines {
            let (name, value) = line.split_once(" = ").ok_or("a line is not `name = value`")?;
            if let Some(at) = FIELDS.iter().position(|field| *field == name) {
                fields[at] = Some(number(name, value)?);
            }
        }
        let [format, reader, writer, plain_mode, executable_mode, time_unit_ns] =
            fields.map(|field| field.ok_or("a setting is missing"));
        let config = Self {
            format: format?,
            reader: reader?,
            writer: writer?,
            plain_mode: plain_mode?,
            executable_mode: executable_mode?,
            time_unit_ns: time_unit_ns?,
        };
        config.plausible()
    }

    fn plausible(self) -> Result<Self, &'static str> {
        let modes = self.plain_mode | self.executable_mode;
        if modes & !0o777 != 0 || self.plain_mode & 0o111 != 0 {
            return Err("a mode has bits that no object has");
        }
        if !(1..=2_000_000_000).contains(&self.time_unit_ns) {
            return Err("the unit of time is out of range");
        }
        Ok(self)
    }
}

/// The settings in the order of [`Config::fields`].
const FIELDS: [&str; 6] =
    ["format", "reader", "writer", "plain_mode", "executable_mode", "time_unit_ns"];

fn number(name: &str, value: &str) -> Result<u32, &'static str> {
    let radix = if name.ends_with("mode") { 8 } else { 10 };
    u32::from_str_radix(value, radix).map_err(|_| "a value is not a number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: Config = Config {
        format: 1,
        reader: 1,
        writer: 1,
        plain_mode: 0o644,
        executable_mode: 0o755,
        time_unit_ns: 1,
    };

    #[test]
    fn the_document_shows_the_file() {
        let document = include_str!("../docs/LAYOUT.md");
        assert!(document.contains(&SAMPLE.encode()), "expected:\n{}", SAMPLE.encode());
    }

    #[test]
    fn a_config_reads_back_and_skips_what_it_does_not_know() {
        assert_eq!(Config::decode(&SAMPLE.encode()), Ok(SAMPLE));
        let newer = format!("{}colour = blue\n", SAMPLE.encode());
        assert_eq!(Config::decode(&newer), Ok(SAMPLE));
    }

    #[test]
    fn a_config_cut_anywhere_is_refused_or_the_same() {
        let text = SAMPLE.encode();
        for end in 0..text.len() - 1 {
            assert!(Config::decode(&text[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn set_id_bits_are_refused() {
        let text = SAMPLE.encode().replace("755", "4755");
        assert!(Config::decode(&text).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = Config::decode(&text);
        }
    }
}
