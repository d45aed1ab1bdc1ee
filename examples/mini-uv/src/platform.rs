//! `--python-platform`: install for another system than this one.
//!
//! A target changes which platform tags fit and which markers hold. What a cross-install cannot do
//! is absent: nothing is run, and byte-compiling still uses the interpreter at hand.

use anyhow::{Context, bail};
use pep508_rs::MarkerEnvironment;

use crate::fault::Advise;
use crate::tags;

/// A system to install for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "fields are named like the markers they stand for")]
pub(crate) struct Platform {
    pub(crate) tags: Vec<String>,
    os_name: &'static str,
    sys_platform: &'static str,
    platform_system: &'static str,
    platform_machine: String,
}

impl Platform {
    /// Reads uv's names: `linux`, `aarch64-manylinux_2_28`, `x86_64-unknown-linux-musl`, `macos`...
    pub(crate) fn parse(name: &str) -> anyhow::Result<Self> {
        Self::parse_known(name)
            .with_context(|| format!("invalid value `{name}` for `--python-platform`"))
            .hint("name one like `linux`, `aarch64-manylinux_2_28`, `x86_64-unknown-linux-musl`, `macos`, `windows`")
    }

    fn parse_known(name: &str) -> anyhow::Result<Self> {
        match name {
            "linux" => return Self::parse_known("x86_64-unknown-linux-gnu"),
            "macos" => return Self::parse_known("aarch64-apple-darwin"),
            "windows" => return Self::parse_known("x86_64-pc-windows-msvc"),
            _ => {}
        }
        let (machine, system) = name.split_once('-').context("it has no machine and system")?;
        match system {
            "unknown-linux-gnu" => Ok(Self::linux(machine, Some((2, 28)), None)),
            "unknown-linux-musl" => Ok(Self::linux(machine, None, Some((1, 2)))),
            "apple-darwin" => Ok(Self::macos(machine)),
            "pc-windows-msvc" => Self::windows(machine),
            _ => Self::libc_named(machine, system),
        }
    }

    fn libc_named(machine: &str, system: &str) -> anyhow::Result<Self> {
        if system == "manylinux2014" {
            return Ok(Self::linux(machine, Some((2, 17)), None));
        }
        let (family, version) = system.split_once('_').context("its system is not known")?;
        let (major, minor) = version.split_once('_').context("its C library has no version")?;
        let version = Some((major.parse()?, minor.parse()?));
        match family {
            "manylinux" => Ok(Self::linux(machine, version, None)),
            "musllinux" => Ok(Self::linux(machine, None, version)),
            _ => bail!("its system is not known"),
        }
    }

    fn linux(machine: &str, glibc: Option<(u32, u32)>, musl: Option<(u32, u32)>) -> Self {
        Self {
            tags: tags::linux(machine, glibc, musl),
            os_name: "posix",
            sys_platform: "linux",
            platform_system: "Linux",
            platform_machine: machine.to_owned(),
        }
    }

    fn macos(machine: &str) -> Self {
        let machine = if machine == "aarch64" { "arm64" } else { machine };
        Self {
            tags: tags::macos((13, 0), machine),
            os_name: "posix",
            sys_platform: "darwin",
            platform_system: "Darwin",
            platform_machine: machine.to_owned(),
        }
    }

    fn windows(machine: &str) -> anyhow::Result<Self> {
        let (tag, name) = match machine {
            "x86_64" => ("win_amd64", "AMD64"),
            "aarch64" => ("win_arm64", "ARM64"),
            "i686" => ("win32", "x86"),
            _ => bail!("Windows does not run on `{machine}`"),
        };
        Ok(Self {
            tags: vec![tag.to_owned()],
            os_name: "nt",
            sys_platform: "win32",
            platform_system: "Windows",
            platform_machine: name.to_owned(),
        })
    }

    /// `markers` as they hold on this platform.
    pub(crate) fn markers(&self, markers: &MarkerEnvironment) -> MarkerEnvironment {
        markers
            .clone()
            .with_os_name(self.os_name)
            .with_sys_platform(self.sys_platform)
            .with_platform_system(self.platform_system)
            .with_platform_machine(self.platform_machine.clone())
            .with_platform_release(String::new())
            .with_platform_version(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_c_library_bounds_the_tags() {
        let platform = Platform::parse("aarch64-manylinux_2_28").unwrap();
        assert_eq!(platform.tags[0], "manylinux_2_28_aarch64");
        assert!(platform.tags.contains(&"manylinux2014_aarch64".to_owned()));
        assert_eq!(Platform::parse("windows").unwrap().tags, ["win_amd64"]);
    }

    #[test]
    fn unknown_platforms_are_refused() {
        for name in ["amiga", "x86_64-amiga", "x86_64-manylinux_2", "m68k-pc-windows-msvc"] {
            assert!(Platform::parse(name).is_err(), "{name}");
        }
    }
}
