//! Version specifiers as sets that the resolver can intersect, and back into what people write.
//!
//! The one thing that ranges cannot say by themselves is that `==1.0` means `1.0+anything` too. Local
//! versions sort directly above their public version, so the set is closed at the top by a local
//! version that sorts above all others; `show` never prints it.

use std::ops::Bound;

use pep440_rs::{LocalSegment, Operator, Version, VersionSpecifier, VersionSpecifiers};
use pubgrub::Ranges;

/// Versions that `specifiers` admit, pre-releases included.
pub(crate) fn of(specifiers: &VersionSpecifiers) -> Ranges<Version> {
    specifiers
        .iter()
        .fold(Ranges::full(), |range, specifier| range.intersection(&of_one(specifier)))
}

fn of_one(specifier: &VersionSpecifier) -> Ranges<Version> {
    let version = specifier.version();
    if version.is_local() {
        return specifier.clone().into();
    }
    match specifier.operator() {
        Operator::Equal | Operator::ExactEqual => equal(version),
        Operator::NotEqual => equal(version).complement(),
        // Pre-releases of the post-release itself are out, those of its base are older and in.
        Operator::LessThan if version.is_post() && !version.any_prerelease() => {
            Ranges::strictly_lower_than(version.clone().with_dev(Some(0)))
        }
        Operator::LessThanEqual => Ranges::lower_than(last_local(version)),
        _ => specifier.clone().into(),
    }
}

/// The version and all its local versions.
fn equal(version: &Version) -> Ranges<Version> {
    Ranges::from_range_bounds(version.clone()..=last_local(version))
}

fn last_local(version: &Version) -> Version {
    version.clone().with_local(vec![LocalSegment::Number(u64::MAX)])
}

/// `name==1.0`, `name>=1,<2`, or `name` for every version.
pub(crate) fn show(name: &str, range: &Ranges<Version>) -> String {
    let segments: Vec<String> = range.iter().map(|(low, high)| show_segment(low, high)).collect();
    match segments.as_slice() {
        [] => format!("no version of {name}"),
        [one] => format!("{name}{one}"),
        [first, .., last] if first.starts_with('<') && last.starts_with('>') => holes(name, range),
        several => several
            .iter()
            .map(|segment| format!("{name}{segment}"))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

/// Everything but a few versions, when that is what the set is.
fn holes(name: &str, range: &Ranges<Version>) -> String {
    let complement = range.complement();
    let holes: Option<Vec<String>> = complement
        .iter()
        .map(|(low, high)| Some(show_segment(low, high)).filter(|hole| hole.starts_with("==")))
        .collect();
    match holes {
        Some(holes) => format!("{name}{}", holes.join(",").replace("==", "!=")),
        None => format!("{name} outside {}", show(name, &complement)),
    }
}

fn show_segment(low: &Bound<Version>, high: &Bound<Version>) -> String {
    if let (Bound::Included(low), Bound::Included(high)) = (low, high)
        && clean(low) == clean(high)
    {
        return format!("=={}", clean(low));
    }
    let low = match low {
        Bound::Included(version) => format!(">={}", clean(version)),
        Bound::Excluded(version) => format!(">{}", clean(version)),
        Bound::Unbounded => String::new(),
    };
    let high = match high {
        Bound::Included(version) => format!("<={}", clean(version)),
        Bound::Excluded(version) => format!("<{}", clean(version)),
        Bound::Unbounded => String::new(),
    };
    [low, high].iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(",")
}

/// The version as someone wrote it, without the marks that close a set.
fn clean(version: &Version) -> Version {
    let mut version = version.clone();
    // Pre-releases cannot have the marks, and say so by panicking.
    if Version::min(&version).is_some() {
        version = version.with_min(None);
    }
    if Version::max(&version).is_some() {
        version = version.with_max(None);
    }
    if version.local() == [LocalSegment::Number(u64::MAX)] {
        version.without_local()
    } else {
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Ranges<Version> {
        of(&text.parse().unwrap())
    }

    #[test]
    fn a_public_version_stands_for_its_local_versions() {
        let contains =
            |specifier: &str, version: &str| range(specifier).contains(&version.parse().unwrap());
        assert!(contains("==1.2.3", "1.2.3+foo.9"));
        assert!(contains("<=1.2.3", "1.2.3+foo"));
        assert!(!contains("<=1.2.3", "1.2.3.post1"));
        assert!(!contains("!=1.2.3", "1.2.3+foo"));
        assert!(!contains("==1.2.3+bar", "1.2.3+foo"));
        assert!(!contains(">1.2.3", "1.2.3.post1+local"));
        assert!(contains("<1.2.3.post1", "1.2.3a1"));
        assert!(!contains("<1.2.3.post1", "1.2.3.post1.dev0"));
    }

    #[test]
    fn ranges_read_like_requirements() {
        for (specifiers, text) in [
            ("", "a"),
            ("==1.0", "a==1.0"),
            (">=1,<2", "a>=1,<2"),
            ("!=1.5", "a!=1.5"),
            (">1", "a>1"),
            ("<=3", "a<=3"),
            (">=1,!=1.5", "a>=1,<1.5 or a>1.5"),
        ] {
            assert_eq!(show("a", &range(specifiers)), text);
        }
        assert_eq!(show("a", &Ranges::empty()), "no version of a");
    }
}
