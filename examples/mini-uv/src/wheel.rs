//! Decides whether the files of an unpacked archive are a wheel, and what they say.
//!
//! List of files in, verdict out: nothing here touches a file. A wheel has exactly one `.dist-info`
//! folder, named like the archive, whose `WHEEL` is of a version we know and whose `RECORD` lists
//! the files with their digests. Neither uv nor pip checks those digests; a wheel that was damaged
//! before it was zipped, or whose RECORD someone forgot to update, is caught here.
//!
//! # References
//!
//! "Binary distribution format" of the Python packaging user guide.

use std::collections::HashMap;

use anyhow::{Context, bail, ensure};

use crate::entry_points;
use crate::fault::Advise;
use crate::headers::Headers;
use crate::metadata::Metadata;
use crate::record::{self, Row};
use crate::wheel_name::WheelName;

/// The files of a wheel that an installer reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) metadata: String,
    pub(crate) wheel: String,
    /// One row per file of the archive, in the archive's own paths.
    pub(crate) record: String,
    pub(crate) entry_points: String,
}

/// A file as it came out of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    pub(crate) path: &'a str,
    pub(crate) size: u64,
    pub(crate) sha256: [u8; 32],
}

/// The wheel version that is implemented here.
const MAJOR: u64 = 1;

/// The top-level folder called `NAME-VERSION.dist-info`, of which there must be one.
pub(crate) fn dist_info<P: AsRef<str>>(paths: &[P], wheel: &WheelName) -> anyhow::Result<String> {
    let mut found: Vec<&str> = paths
        .iter()
        .filter_map(|path| path.as_ref().split_once('/'))
        .map(|(top, _)| top)
        .filter(|top| top.ends_with(".dist-info"))
        .collect();
    found.sort_unstable();
    found.dedup();
    match *found.as_slice() {
        [one] => check_dist_info(one, wheel).map(|()| one.to_owned()),
        [] => bail!("it has no `.dist-info` folder"),
        _ => bail!("it has several `.dist-info` folders: {}", found.join(", ")),
    }
}

/// The folder's name must be that of the archive, up to how names and versions may be written.
fn check_dist_info(folder: &str, wheel: &WheelName) -> anyhow::Result<()> {
    let stem = folder.trim_end_matches(".dist-info");
    let (name, version) =
        stem.split_once('-').with_context(|| format!("`{folder}` has no version"))?;
    let same = name.parse().is_ok_and(|name: pep508_rs::PackageName| name == wheel.name)
        && version.parse().is_ok_and(|version: pep440_rs::Version| version == wheel.version);
    ensure!(same, "its folder `{folder}` does not belong to {wheel}");
    Ok(())
}

/// Checks everything that the texts and the list of files say about each other.
///
/// `texts.record` is replaced by what is true: rows without a file go, files without a row are added.
pub(crate) fn check(
    wheel: &WheelName,
    dist_info: &str,
    texts: &mut Texts,
    files: &[Seen<'_>],
) -> anyhow::Result<Option<String>> {
    let warning = check_version(&texts.wheel)?;
    let metadata = Metadata::parse(&texts.metadata)?;
    ensure!(
        metadata.name == wheel.name && metadata.version == wheel.version,
        "its METADATA is that of {} {}",
        metadata.name,
        metadata.version
    );
    entry_points::parse(&texts.entry_points).context("its `entry_points.txt` is refused")?;
    let rows = record::parse(&texts.record)?;
    texts.record = record::write(verified(&rows, dist_info, files)?);
    Ok(warning)
}

/// A newer minor version is a warning, a newer major one an error.
fn check_version(text: &str) -> anyhow::Result<Option<String>> {
    let headers = Headers::parse(text);
    let version =
        headers.first("Wheel-Version").context("its WHEEL file has no `Wheel-Version`")?;
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u64>().ok());
    let mut parts = version.split('.');
    let (major, minor) = (number(parts.next()), number(parts.next()));
    let major = major.with_context(|| format!("`Wheel-Version: {version}` is no version"))?;
    if major != MAJOR {
        return Err(anyhow::anyhow!("it is a wheel of version {version}, this tool reads 1.0"))
            .hint("install it with a newer tool, or take an older release of the package");
    }
    Ok(minor
        .filter(|minor| *minor > 0)
        .map(|_| format!("it is a wheel of version {version}, newer than 1.0")))
}

/// Whether the wheel's own files go to `purelib`.
pub(crate) fn is_pure(wheel: &str) -> bool {
    Headers::parse(wheel)
        .first("Root-Is-Purelib")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// One row per file, after each was compared with the row that RECORD has for it.
fn verified(rows: &[Row], dist_info: &str, files: &[Seen<'_>]) -> anyhow::Result<Vec<Row>> {
    let stated: HashMap<&str, &Row> = rows.iter().map(|row| (&*row.path, row)).collect();
    let own = format!("{dist_info}/RECORD");
    let mut verified = Vec::with_capacity(files.len());
    for file in files.iter().filter(|file| file.path != own) {
        if let Some(row) = stated.get(file.path) {
            compare(row, file)?;
        }
        verified.push(Row {
            path: file.path.to_owned(),
            sha256: Some(file.sha256),
            size: Some(file.size),
        });
    }
    Ok(verified)
}

fn compare(row: &Row, file: &Seen<'_>) -> anyhow::Result<()> {
    let same_digest = row.sha256.is_none_or(|digest| digest == file.sha256);
    let same_size = row.size.is_none_or(|size| size == file.size);
    if same_digest && same_size {
        return Ok(());
    }
    let mismatch = if same_size {
        let stated = row.sha256.map(|digest| record::hex(&digest)).unwrap_or_default();
        format!("its SHA-256 is {}, RECORD says {stated}", record::hex(&file.sha256))
    } else {
        format!("it has {} bytes, RECORD says {}", file.size, row.size.unwrap_or_default())
    };
    Err(anyhow::anyhow!("the file `{}` is not what RECORD says: {mismatch}", file.path))
        .hint("the wheel was changed after it was built: download or build it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel() -> WheelName {
        "Foo_Bar-1.0-py3-none-any.whl".parse().unwrap()
    }

    #[test]
    fn there_is_one_dist_info_folder_and_it_has_the_archives_name() {
        let find = |paths: &[&str]| dist_info(paths, &wheel());
        assert_eq!(
            find(&["a.py", "foo_bar-1.0.dist-info/WHEEL"]).unwrap(),
            "foo_bar-1.0.dist-info"
        );
        assert_eq!(find(&["foo.bar-1.dist-info/WHEEL"]).unwrap(), "foo.bar-1.dist-info");
        for (paths, what) in [
            (&["a.py"][..], "no `.dist-info`"),
            (&["a-1.dist-info/WHEEL"], "does not belong"),
            (&["foo_bar-2.dist-info/WHEEL"], "does not belong"),
            (&["foo_bar-1.dist-info/A", "foo_bar-1.0.dist-info/A"], "several"),
        ] {
            let error = find(paths).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_newer_major_version_is_refused_and_a_newer_minor_one_is_a_warning() {
        assert_eq!(check_version("Wheel-Version: 1.0\n").unwrap(), None);
        assert!(check_version("Wheel-Version: 1.9\n").unwrap().unwrap().contains("1.9"));
        assert!(check_version("Wheel-Version: 2.0\n").unwrap_err().to_string().contains("2.0"));
        assert!(check_version("Tag: x\n").is_err());
    }

    #[test]
    fn record_is_healed_but_never_contradicted() {
        let digest = [7; 32];
        let row = |path: &str, sha256| Row { path: path.into(), sha256, size: Some(1) };
        let files = [
            Seen { path: "a", size: 1, sha256: digest },
            Seen { path: "unlisted", size: 2, sha256: digest },
        ];
        let healed =
            verified(&[row("a", None), row("ghost", None)], "x.dist-info", &files).unwrap();
        let paths: Vec<_> = healed.iter().map(|row| &*row.path).collect();
        assert_eq!(paths, ["a", "unlisted"]);
        assert!(healed.iter().all(|row| row.sha256 == Some(digest)));
        let wrong = verified(&[row("a", Some([8; 32]))], "x.dist-info", &files).unwrap_err();
        assert!(wrong.to_string().contains("`a`"), "{wrong}");
        let short = verified(&[Row { size: Some(9), ..row("a", None) }], "x.dist-info", &files);
        assert!(short.unwrap_err().to_string().contains('9'));
    }
}
