//! Which wheels fit an interpreter, best first.
//!
//! A wheel fits when one of its tags is in the list; of two wheels that fit, the one whose best tag
//! comes first wins. The order is that of Python's `packaging.tags.sys_tags()`, which a test compares
//! line by line. Facts in, list out: nothing here looks at the machine.
//!
//! # References
//!
//! "Platform compatibility tags" of the Python packaging user guide; PEP 600 (manylinux), PEP 656
//! (musllinux), PEP 703 (free threading).

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::interpreter::Interpreter;
use crate::wheel_name::WheelName;

/// One tag: Python, ABI, platform.
pub(crate) type Tag = (String, String, String);

/// Every tag that fits, with its place in the order.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    ordered: Vec<Tag>,
    rank: HashMap<Tag, usize>,
}

impl Tags {
    /// The tags of `interpreter` for `platforms`, which are the system's own by default.
    pub(crate) fn of(interpreter: &Interpreter, platforms: &[String]) -> Self {
        let mut tags = match interpreter.markers.implementation_name() {
            "cpython" => cpython(interpreter, platforms),
            _ => generic(interpreter, platforms),
        };
        tags.extend(compatible(interpreter, platforms));
        Self::from_list(tags)
    }

    fn from_list(ordered: Vec<Tag>) -> Self {
        let mut rank = HashMap::with_capacity(ordered.len());
        for (index, tag) in ordered.iter().enumerate() {
            rank.entry(tag.clone()).or_insert(index);
        }
        Self { ordered, rank }
    }

    /// How well a wheel fits: lower is better, none when it does not.
    pub(crate) fn rank(&self, wheel: &WheelName) -> Option<usize> {
        let rank = |(python, abi, platform): (&str, &str, &str)| {
            self.rank.get(&(python.to_owned(), abi.to_owned(), platform.to_owned())).copied()
        };
        wheel.tags().filter_map(rank).min()
    }

    /// The best tag, for messages.
    pub(crate) fn best(&self) -> String {
        self.ordered.first().map_or_else(String::new, |(python, abi, platform)| {
            format!("{python}-{abi}-{platform}")
        })
    }

    /// The tags in order.
    #[cfg(test)]
    fn ordered(&self) -> &[Tag] {
        &self.ordered
    }
}

fn tag(python: &str, abi: &str, platform: &str) -> Tag {
    (python.to_owned(), abi.to_owned(), platform.to_owned())
}

fn on_each<'a>(
    python: &'a str,
    abi: &'a str,
    platforms: &'a [String],
) -> impl Iterator<Item = Tag> + 'a {
    platforms.iter().map(move |platform| tag(python, abi, platform))
}

fn cpython(interpreter: &Interpreter, platforms: &[String]) -> Vec<Tag> {
    let (major, minor) = interpreter.version;
    let name = format!("cp{major}{minor}");
    let stable = !interpreter.gil_disabled;
    let mut tags = Vec::new();
    for abi in cpython_abis(interpreter) {
        tags.extend(on_each(&name, &abi, platforms));
    }
    if stable {
        tags.extend(on_each(&name, "abi3", platforms));
    }
    tags.extend(on_each(&name, "none", platforms));
    for older in (2..minor).rev().filter(|_| stable) {
        tags.extend(on_each(&format!("cp{major}{older}"), "abi3", platforms));
    }
    tags
}

fn cpython_abis(interpreter: &Interpreter) -> Vec<String> {
    let (major, minor) = interpreter.version;
    let threading = if interpreter.gil_disabled { "t" } else { "" };
    let release = format!("cp{major}{minor}{threading}");
    if interpreter.debug { vec![format!("{release}d"), release] } else { vec![release] }
}

/// Other implementations: their own ABI, then none.
fn generic(interpreter: &Interpreter, platforms: &[String]) -> Vec<Tag> {
    let (major, minor) = interpreter.version;
    let short = match interpreter.markers.implementation_name() {
        "pypy" => "pp",
        other => other,
    };
    let name = format!("{short}{major}{minor}");
    let abi: String = interpreter.soabi.split('-').take(2).collect::<Vec<_>>().join("_");
    let mut tags: Vec<Tag> = on_each(&name, &abi, platforms).collect();
    tags.extend(on_each(&name, "none", platforms));
    tags
}

/// Pure Python wheels, newest language version first.
fn compatible(interpreter: &Interpreter, platforms: &[String]) -> Vec<Tag> {
    let (major, minor) = interpreter.version;
    let mut pythons = vec![format!("py{major}{minor}"), format!("py{major}")];
    pythons.extend((0..minor).rev().map(|older| format!("py{major}{older}")));
    let mut tags: Vec<Tag> =
        pythons.iter().flat_map(|python| on_each(python, "none", platforms)).collect();
    tags.push(tag(&own_name(interpreter), "none", "any"));
    tags.extend(pythons.iter().map(|python| tag(python, "none", "any")));
    tags
}

fn own_name(interpreter: &Interpreter) -> String {
    let (major, minor) = interpreter.version;
    match interpreter.markers.implementation_name() {
        "pypy" => "pp3".to_owned(),
        "cpython" => format!("cp{major}{minor}"),
        other => format!("{other}{major}{minor}"),
    }
}

/// The platform tags of the system that `interpreter` runs on, best first.
pub(crate) fn own_platforms(interpreter: &Interpreter) -> Vec<String> {
    let platform = interpreter.platform.replace(['-', '.'], "_");
    if let Some(machine) = platform.strip_prefix("linux_") {
        return linux(
            narrow(machine, interpreter.bits),
            interpreter.libc.glibc,
            interpreter.libc.musl,
        );
    }
    if platform.starts_with("macosx_") {
        return macos(macos_version(&interpreter.macos), interpreter.markers.platform_machine());
    }
    vec![platform]
}

/// A 32-bit interpreter on a 64-bit kernel uses the 32-bit machine's wheels.
fn narrow(machine: &str, bits: u32) -> &str {
    match (machine, bits) {
        ("x86_64", 32) => "i686",
        ("aarch64", 32) => "armv8l",
        _ => machine,
    }
}

fn macos_version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(11), parts.next().unwrap_or(0))
}

/// manylinux, musllinux, then plain linux, for the machine and those it can stand in for.
pub(crate) fn linux(
    machine: &str,
    glibc: Option<(u32, u32)>,
    musl: Option<(u32, u32)>,
) -> Vec<String> {
    let machines = if machine == "armv8l" { vec!["armv8l", "armv7l"] } else { vec![machine] };
    let mut tags = Vec::new();
    tags.extend(
        machines
            .iter()
            .filter(|machine| has_manylinux(machine))
            .flat_map(|machine| manylinux(machine, glibc)),
    );
    tags.extend(machines.iter().flat_map(|machine| musllinux(machine, musl)));
    tags.extend(machines.iter().map(|machine| format!("linux_{machine}")));
    tags
}

fn has_manylinux(machine: &str) -> bool {
    matches!(
        machine,
        "x86_64"
            | "i686"
            | "aarch64"
            | "armv7l"
            | "ppc64"
            | "ppc64le"
            | "s390x"
            | "loongarch64"
            | "riscv64"
    )
}

fn manylinux(machine: &str, glibc: Option<(u32, u32)>) -> Vec<String> {
    let Some((2, newest)) = glibc else { return Vec::new() };
    let oldest = if matches!(machine, "x86_64" | "i686") { 5 } else { 17 };
    let mut tags = Vec::new();
    for minor in (oldest..=newest).rev() {
        tags.push(format!("manylinux_2_{minor}_{machine}"));
        tags.extend(legacy_name(minor).map(|name| format!("{name}_{machine}")));
    }
    tags
}

fn legacy_name(glibc_minor: u32) -> Option<&'static str> {
    match glibc_minor {
        17 => Some("manylinux2014"),
        12 => Some("manylinux2010"),
        5 => Some("manylinux1"),
        _ => None,
    }
}

fn musllinux(machine: &str, musl: Option<(u32, u32)>) -> Vec<String> {
    let Some((major, newest)) = musl else { return Vec::new() };
    (0..=newest).rev().map(|minor| format!("musllinux_{major}_{minor}_{machine}")).collect()
}

/// From the system's own version down to the oldest that wheels are built for.
pub(crate) fn macos(version: (u32, u32), machine: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for major in (11..=version.0).rev() {
        tags.extend(macos_formats(machine).map(|format| format!("macosx_{major}_0_{format}")));
    }
    for minor in macos_ten(version) {
        let formats =
            macos_formats(machine).filter(|format| machine == "x86_64" || *format == "universal2");
        tags.extend(formats.map(|format| format!("macosx_10_{minor}_{format}")));
    }
    tags
}

/// The minor versions of macOS 10 that still fit, newest first.
fn macos_ten((major, minor): (u32, u32)) -> std::iter::Rev<RangeInclusive<u32>> {
    (4..=if major > 10 { 16 } else { minor }).rev()
}

fn macos_formats(machine: &str) -> impl Iterator<Item = &'static str> {
    let formats: &[_] = match machine {
        "x86_64" => &["x86_64", "intel", "fat64", "fat32", "universal2", "universal"],
        _ => &["arm64", "universal2"],
    };
    formats.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;

    /// Every interpreter on PATH that can import `packaging`, by its own name or out of pip.
    const ORACLE: &str = "
try:
    from packaging.tags import sys_tags
except ImportError:
    import glob, os, sys, ensurepip
    bundled = os.path.join(os.path.dirname(ensurepip.__file__), '_bundled')
    sys.path[:0] = glob.glob(os.path.join(bundled, 'pip-*.whl'))
    from pip._vendor.packaging.tags import sys_tags
print('\\n'.join(str(tag) for tag in sys_tags()))
";

    fn assert_same_as_packaging(executable: &std::path::Path) {
        let interpreter = Interpreter::ask(executable).unwrap();
        let ours = Tags::of(&interpreter, &own_platforms(&interpreter));
        let mut ours: Vec<_> =
            ours.ordered().iter().map(|(p, a, l)| format!("{p}-{a}-{l}")).collect();
        let theirs = String::from_utf8(interpreter::run(executable, ORACLE).unwrap()).unwrap();
        let theirs: Vec<_> = theirs.lines().collect();
        // `packaging` before 22 knew this tag for PyPy only.
        let own_any = format!("{}-none-any", own_name(&interpreter));
        ours.retain(|tag| *tag != own_any || theirs.contains(&&*own_any));
        let difference = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!(difference, None, "{}", executable.display());
        assert_eq!(ours.len(), theirs.len(), "{}", executable.display());
    }

    #[test]
    fn the_order_is_that_of_packaging_for_every_interpreter_here() {
        let mut compared = 0;
        for request in
            ["python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13"]
        {
            if let Ok(executable) = interpreter::locate(request) {
                assert_same_as_packaging(&executable);
                compared += 1;
            }
        }
        assert!(compared > 0, "no interpreter on PATH");
    }

    #[test]
    fn the_best_of_several_tags_counts() {
        let tags = Tags::from_list(vec![tag("cp312", "abi3", "a"), tag("py3", "none", "any")]);
        let rank = |name: &str| tags.rank(&name.parse().unwrap());
        assert_eq!(rank("x-1-py2.py3-none-any.whl"), Some(1));
        assert_eq!(rank("x-1-cp312.py3-abi3.none-a.any.whl"), Some(0));
        assert_eq!(rank("x-1-py2-none-any.whl"), None);
    }

    #[test]
    fn an_arm_mac_takes_universal_wheels_of_older_systems() {
        let tags = macos((14, 2), "arm64");
        assert_eq!(tags[..2], ["macosx_14_0_arm64", "macosx_14_0_universal2"]);
        assert_eq!(tags.last().unwrap(), "macosx_10_4_universal2");
    }
}
