//! How one version of a crate is stored: a few hundred bytes that are cheap to skip and to read.
//!
//! The registry describes a version as a line of JSON (1.8 KB on average). To choose among the
//! versions of a crate one needs the version, whether it is yanked, whether it claims a native
//! library and the oldest toolchain it accepts; only the one or two versions that are tried need
//! the rest. So those four facts are in [`Flags`], 16 bits that the index cache keeps beside the
//! version's name, and the rest is this record:
//!
//! ```text
//! record   checksum[32] links rust_version deps features
//! deps     count (bits key name? req target? features)*      bits: kind 2, optional, default,
//! features count (name (count value*))*                             renamed, target, foreign
//! text     length bytes                                      absent links, version: length 0
//! count, length: LEB128
//! ```
//!
//! Dev-dependencies are not stored: nobody resolves them for a crate from a registry. This module
//! does no I/O and trusts no byte: what cannot be decoded is an error that names the offset.

use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use semver::{Version, VersionReq};

use crate::hex;
use crate::name::Name;
use crate::rust_version::RustVersion;
use crate::summary::{Dep, Kind, Req, Source, Summary, feature_map};

/// Names this encoding in the header of the index cache; a change of meaning needs a new one.
pub(crate) const SCHEMA: &[u8] = b"mini-cargo registry records, 1";

/// The facts about a version that decide whether it is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    const YANKED: u16 = 1;
    const UNUSABLE: u16 = 1 << 1;
    const LINKS: u16 = 1 << 2;
    const OTHER_NAME: u16 = 1 << 3;
    const RUST_SHIFT: u16 = 4;
    /// The rust version is not of the form `1.N`: the record has it.
    const RUST_ODD: u16 = 0xFFF;

    /// What [`bits`](Self::bits) gave.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// All of them, to be stored beside the record.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Withdrawn by its author: only a lock file may still name it.
    pub(crate) const fn yanked(self) -> bool {
        self.0 & Self::YANKED != 0
    }

    /// Of a newer index schema, or its line makes no sense.
    pub(crate) const fn unusable(self) -> bool {
        self.0 & Self::UNUSABLE != 0
    }

    pub(crate) const fn links(self) -> bool {
        self.0 & Self::LINKS != 0
    }

    /// Spelled differently (`Foo_bar` for `foo-bar`), so that a requirement never means it.
    pub(crate) const fn other_name(self) -> bool {
        self.0 & Self::OTHER_NAME != 0
    }

    /// Whether the version builds with `toolchain`; `None` when only the record knows.
    pub(crate) fn builds_with(self, toolchain: RustVersion) -> Option<bool> {
        match self.0 >> Self::RUST_SHIFT {
            0 => Some(true),
            Self::RUST_ODD => None,
            code => Some(RustVersion::minor(u64::from(code) - 1).allows(toolchain)),
        }
    }
}

/// A version as the registry describes it, before it is stored.
#[derive(Debug, Default)]
pub(crate) struct Description<'a> {
    pub(crate) checksum: &'a str,
    pub(crate) links: Option<&'a str>,
    pub(crate) rust_version: Option<&'a str>,
    pub(crate) schema: u32,
    pub(crate) yanked: bool,
    pub(crate) valid: bool,
    pub(crate) other_name: bool,
    pub(crate) deps: Vec<DescribedDep<'a>>,
    pub(crate) features: Vec<(&'a str, Vec<&'a str>)>,
}

/// A dependency as the registry describes it.
#[derive(Debug)]
pub(crate) struct DescribedDep<'a> {
    pub(crate) key: &'a str,
    pub(crate) name: &'a str,
    pub(crate) req: &'a str,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
    pub(crate) default_features: bool,
    /// From another registry than the crate itself.
    pub(crate) foreign: bool,
    pub(crate) target: Option<&'a str>,
    pub(crate) features: Vec<&'a str>,
}

/// The newest index schema that is understood.
pub(crate) const SCHEMA_MAX: u32 = 2;

impl Description<'_> {
    pub(crate) fn flags(&self) -> Flags {
        let mut bits = self.rust_code() << Flags::RUST_SHIFT;
        for (set, bit) in [
            (self.yanked, Flags::YANKED),
            (self.schema > SCHEMA_MAX || !self.valid, Flags::UNUSABLE),
            (self.links.is_some(), Flags::LINKS),
            (self.other_name, Flags::OTHER_NAME),
        ] {
            bits |= if set { bit } else { 0 };
        }
        Flags(bits)
    }

    /// 0: accepts any toolchain; N + 1: asks for `1.N`; all ones: something else.
    fn rust_code(&self) -> u16 {
        let Some(asked) = self.rust_version.and_then(RustVersion::parse) else { return 0 };
        let code = asked.as_minor().and_then(|minor| u16::try_from(minor + 1).ok());
        let code = code.filter(|code| *code < Flags::RUST_ODD);
        code.unwrap_or(Flags::RUST_ODD)
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(256);
        // No checksum is written as zeros: only lines without sense lack one.
        let checksum = Some(self.checksum).filter(|hex| !hex.is_empty());
        out.extend(checksum.map_or(Ok([0; 32]), hex::decode)?);
        put_text(&mut out, self.links.unwrap_or_default());
        put_text(&mut out, self.rust_version.unwrap_or_default());
        let deps: Vec<_> = self.deps.iter().filter(|dep| dep.kind != Kind::Dev).collect();
        put_number(&mut out, deps.len() as u64);
        for dep in deps {
            dep.encode(&mut out);
        }
        put_number(&mut out, self.features.len() as u64);
        for (name, values) in &self.features {
            put_text(&mut out, name);
            put_list(&mut out, values);
        }
        Ok(out)
    }
}

impl DescribedDep<'_> {
    const OPTIONAL: u8 = 1 << 2;
    const DEFAULT: u8 = 1 << 3;
    const RENAMED: u8 = 1 << 4;
    const TARGET: u8 = 1 << 5;
    const FOREIGN: u8 = 1 << 6;

    fn encode(&self, out: &mut Vec<u8>) {
        let mut bits = u8::from(self.kind == Kind::Build);
        for (set, bit) in [
            (self.optional, Self::OPTIONAL),
            (self.default_features, Self::DEFAULT),
            (self.key != self.name, Self::RENAMED),
            (self.target.is_some(), Self::TARGET),
            (self.foreign, Self::FOREIGN),
        ] {
            bits |= if set { bit } else { 0 };
        }
        out.push(bits);
        put_text(out, self.key);
        if self.key != self.name {
            put_text(out, self.name);
        }
        put_text(out, self.req);
        if let Some(target) = self.target {
            put_text(out, target);
        }
        put_list(out, &self.features);
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7F) as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_list(out: &mut Vec<u8>, list: &[&str]) {
    put_number(out, list.len() as u64);
    for text in list {
        put_text(out, text);
    }
}

/// Reads the record of version `version` of crate `name`.
///
/// # Errors
/// When the bytes are no record, or describe features that make no sense.
pub(crate) fn decode(name: Name, version: &Version, bytes: &[u8]) -> Result<Summary> {
    Reader { bytes, at: 0 }
        .record(name, version)
        .with_context(|| format!("the index record of `{name} v{version}` is damaged"))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn record(mut self, name: Name, version: &Version) -> Result<Summary> {
        let checksum = self.checksum()?;
        let links = Some(self.text()?).filter(|text| !text.is_empty()).map(Name::new);
        let rust_version = RustVersion::parse(self.text()?);
        let deps = self.deps()?;
        let features = self.features()?;
        let features = feature_map(features.into_iter(), &deps);
        let (version, source) = (version.clone(), Source::Registry);
        Ok(Summary { name, version, source, deps, features, links, rust_version, checksum })
    }

    fn checksum(&mut self) -> Result<Option<String>> {
        let bytes = self.take(32)?;
        Ok(bytes.iter().any(|byte| *byte != 0).then(|| hex::encode(bytes)))
    }

    fn deps(&mut self) -> Result<Vec<Rc<Dep>>> {
        (0..self.number()?).map(|_| self.dep().map(Rc::new)).collect()
    }

    fn dep(&mut self) -> Result<Dep> {
        let bits = self.take(1)?[0];
        let key = Name::new(self.text()?);
        let name = if bits & DescribedDep::RENAMED == 0 { key } else { Name::new(self.text()?) };
        if bits & DescribedDep::FOREIGN != 0 {
            bail!("its dependency `{key}` comes from another registry, which is not supported");
        }
        let req = self.text()?;
        let req = VersionReq::parse(req).with_context(|| format!("requirement `{req}`"))?;
        let has_target = bits & DescribedDep::TARGET != 0;
        let target = has_target.then(|| self.text().map(Name::new)).transpose()?;
        let features = self.list()?.into_iter().map(Name::new).collect();
        Ok(Dep {
            name,
            key,
            req: Req::Range(Rc::new(req)),
            source: Source::Registry,
            kind: if bits & 1 == 0 { Kind::Normal } else { Kind::Build },
            optional: bits & DescribedDep::OPTIONAL != 0,
            default_features: bits & DescribedDep::DEFAULT != 0,
            features,
            target,
        })
    }

    fn features(&mut self) -> Result<Vec<(&'a str, Vec<&'a str>)>> {
        (0..self.number()?).map(|_| Ok((self.text()?, self.list()?))).collect()
    }

    fn list(&mut self) -> Result<Vec<&'a str>> {
        (0..self.number()?).map(|_| self.text()).collect()
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = usize::try_from(self.number()?).context("length too large")?;
        let at = self.at;
        std::str::from_utf8(self.take(length)?).with_context(|| format!("text at byte {at}"))
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        bail!("number too large before byte {}", self.at)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (at, total) = (self.at, self.bytes.len());
        let taken = self.bytes.get(at..).and_then(|rest| rest.get(..length));
        self.at = at.saturating_add(length);
        taken.with_context(|| format!("{length} bytes wanted at byte {at} of {total}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHECKSUM: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn sample() -> Description<'static> {
        let dep = |key, name, kind, target| DescribedDep {
            key,
            name,
            req: "^1.2, <1.9",
            kind,
            optional: key == "opt",
            default_features: key != "opt",
            foreign: false,
            target,
            features: vec!["std", "alloc"],
        };
        Description {
            checksum: CHECKSUM,
            links: Some("z"),
            rust_version: Some("1.70.1"),
            schema: 2,
            valid: true,
            deps: vec![
                dep("opt", "real-name", Kind::Normal, None),
                dep("build", "build", Kind::Build, Some("cfg(unix)")),
                dep("dev", "dev", Kind::Dev, None),
            ],
            features: vec![("default", vec!["opt/std"]), ("x", vec!["dep:opt"])],
            ..Description::default()
        }
    }

    fn read(bytes: &[u8]) -> Result<Summary> {
        decode(Name::new("a"), &Version::new(1, 0, 0), bytes)
    }

    #[test]
    fn a_record_says_what_was_described_but_for_dev_dependencies() {
        let summary = read(&sample().encode().unwrap()).unwrap();
        assert_eq!(summary.checksum.as_deref(), Some(CHECKSUM));
        assert_eq!(summary.links, Some(Name::new("z")));
        assert_eq!(summary.rust_version, RustVersion::parse("1.70.1"));
        let [opt, build] = &summary.deps[..] else { panic!("{:?}", summary.deps) };
        assert_eq!((opt.name, opt.key), (Name::new("real-name"), Name::new("opt")));
        assert!(opt.optional && !opt.default_features && opt.kind == Kind::Normal);
        assert_eq!((build.kind, build.target), (Kind::Build, Some(Name::new("cfg(unix)"))));
        assert_eq!(summary.features.len(), 2, "`dep:` hides the implicit feature");
    }

    #[test]
    fn flags_tell_what_decides_without_the_record() {
        let flags = |rust_version, yanked| Description { rust_version, yanked, ..sample() }.flags();
        let toolchain = RustVersion::minor(70);
        assert_eq!(flags(None, false).builds_with(toolchain), Some(true));
        assert_eq!(flags(Some("1.70"), false).builds_with(toolchain), Some(true));
        assert_eq!(flags(Some("1.71"), false).builds_with(toolchain), Some(false));
        assert_eq!(flags(Some("1.70.1"), false).builds_with(toolchain), None, "ask the record");
        assert_eq!(flags(Some("2.0"), false).builds_with(toolchain), None, "ask the record");
        assert!(flags(None, true).yanked() && flags(None, true).links());
        assert!(!flags(None, false).yanked() && !flags(None, false).unusable());
        assert!(Description { schema: 3, ..sample() }.flags().unusable());
    }

    #[test]
    fn a_record_cut_at_any_byte_is_an_error() {
        let whole = sample().encode().unwrap();
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_dependency_from_another_registry_is_an_error_that_names_it() {
        let mut description = sample();
        description.deps[0].foreign = true;
        let error = format!("{:#}", read(&description.encode().unwrap()).unwrap_err());
        assert!(error.contains("`opt` comes from another registry"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            drop(read(&bytes));
        }

        #[test]
        fn any_number_is_read_back(number in 0..u64::MAX >> 1) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            prop_assert_eq!(Reader { bytes: &bytes, at: 0 }.number().unwrap(), number);
        }
    }
}
