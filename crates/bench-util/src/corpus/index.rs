//! A registry index: one document per package, one JSON line per version, as sparse indexes have.

use serde_json::{Value, json};

use super::size;
use crate::rng::Rng;

/// One package's document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// Name of the package.
    pub name: String,
    /// One JSON object per version and line, oldest first.
    pub document: Vec<u8>,
    /// Versions in the document.
    pub versions: usize,
}

/// Makes the documents of `packages` packages; each depends on earlier ones only.
///
/// Sizes follow a real index of 2,009 packages: a median of 15 versions and about 1.7 kB each.
///
/// # Examples
///
/// ```
/// let entries = bench_util::corpus::index(1, 20);
/// let last = entries.last().unwrap();
/// assert_eq!(last.document.split(|byte| *byte == b'\n').count(), last.versions + 1);
/// ```
pub fn index(seed: u64, packages: usize) -> Vec<IndexEntry> {
    let mut rng = Rng::for_part(seed, "index");
    (0..packages).map(|number| entry(&mut rng, number)).collect()
}

fn entry(rng: &mut Rng, number: usize) -> IndexEntry {
    let name = name(number);
    let versions = size(rng, 15.0, 1.1, 600);
    let mut document = Vec::new();
    for version in 0..versions {
        let line = version_line(rng, &name, number, version);
        document.extend(line.to_string().into_bytes());
        document.push(b'\n');
    }
    IndexEntry { name, document, versions }
}

fn name(number: usize) -> String {
    format!("package-{number}")
}

fn version_line(rng: &mut Rng, name: &str, number: usize, version: usize) -> Value {
    let dependencies = if number == 0 { 0 } else { rng.below(16) };
    let dependencies: Vec<Value> = (0..dependencies).map(|_| dependency(rng, number)).collect();
    let features: serde_json::Map<String, Value> = (0..rng.below(10))
        .map(|feature| (format!("feature{feature}"), json!([format!("dep:package-{feature}")])))
        .collect();
    json!({
        "name": name,
        "vers": format!("{}.{}.{}", version / 40, version / 5 % 8, version % 5),
        "deps": dependencies,
        "cksum": hex(rng),
        "features": features,
        "yanked": rng.below(50) == 0,
        "v": 2,
    })
}

fn dependency(rng: &mut Rng, number: usize) -> Value {
    json!({
        "name": name(rng.below(number)),
        "req": format!("^{}.{}", rng.below(3), rng.below(8)),
        "features": [],
        "optional": rng.below(4) == 0,
        "default_features": true,
        "target": null,
        "kind": if rng.below(5) == 0 { "dev" } else { "normal" },
    })
}

fn hex(rng: &mut Rng) -> String {
    (0..4).map(|_| format!("{:016x}", rng.next_u64())).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_size_of_a_real_index_and_parse() {
        let entries = index(2, 400);
        let versions: usize = entries.iter().map(|entry| entry.versions).sum();
        let bytes: usize = entries.iter().map(|entry| entry.document.len()).sum();
        assert!((1000..2400).contains(&(bytes / versions)), "{} per version", bytes / versions);
        for line in entries[7].document.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
            let value: Value = serde_json::from_slice(line).unwrap();
            assert_eq!(value["name"], "package-7");
        }
    }

    #[test]
    fn a_seed_means_the_same_index() {
        assert_eq!(index(1, 5), index(1, 5));
        assert_ne!(index(1, 5), index(2, 5));
    }
}
