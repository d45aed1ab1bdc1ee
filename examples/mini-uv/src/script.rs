//! Makes the text of scripts: from an entry point, or from a wheel's own `#!python` script.
//!
//! The kernel reads at most 127 bytes of the first line and splits it at the first space, so an
//! interpreter whose path is longer or has a space is started through `/bin/sh`, by a line that both
//! the shell and Python accept. Text in, text out; nothing here writes a file.

use crate::entry_points::EntryPoint;

/// Linux's limit for the whole first line was 127 bytes until 5.1; other systems are not larger.
const FIRST_LINE_BYTES_MAX: usize = 127;

/// The script that calls `entry` with `python`.
pub(crate) fn launcher(python: &str, entry: &EntryPoint) -> String {
    let EntryPoint { module, object, .. } = entry;
    let import = object.split('.').next().unwrap_or(object);
    format!(
        "{}# -*- coding: utf-8 -*-\n\
         import sys\n\
         from {module} import {import}\n\
         \n\
         if __name__ == \"__main__\":\n    \
             sys.argv[0] = sys.argv[0].removesuffix(\".exe\")\n    \
             sys.exit({object}())\n",
        first_line(python)
    )
}

/// The first line, or lines, that make a script run with `python`.
fn first_line(python: &str) -> String {
    let plain = format!("#!{python}\n");
    if plain.len() <= FIRST_LINE_BYTES_MAX && !python.contains(' ') {
        return plain;
    }
    let quoted = python.replace('\'', "'\"'\"'");
    format!("#!/bin/sh\n'''exec' '{quoted}' \"$0\" \"$@\"\n' '''\n")
}

/// A wheel's script with its `#!python` line replaced; none when it has no such line.
pub(crate) fn rewrite(python: &str, script: &[u8]) -> Option<Vec<u8>> {
    let rest = script.strip_prefix(b"#!python")?;
    let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    let suffix = std::str::from_utf8(&rest[..end]).ok()?.trim();
    if !(suffix.is_empty() || suffix == "w" || suffix.starts_with(' ')) {
        return None;
    }
    let mut rewritten = first_line(python).into_bytes();
    rewritten.extend_from_slice(&rest[end..]);
    Some(rewritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> EntryPoint {
        EntryPoint { name: "x".into(), module: "m.n".into(), object: "C.f".into(), gui: false }
    }

    #[test]
    fn a_launcher_imports_the_first_part_of_a_dotted_object() {
        let text = launcher("/v/bin/python", &entry());
        assert!(text.starts_with("#!/v/bin/python\n"));
        assert!(text.contains("from m.n import C\n"));
        assert!(text.contains("sys.exit(C.f())"));
    }

    #[test]
    fn a_long_path_or_one_with_a_space_goes_through_the_shell() {
        let long = format!("/{}/python", "d".repeat(120));
        for python in ["/a b/python", &long, "/it's here/python"] {
            let text = launcher(python, &entry());
            assert!(text.starts_with("#!/bin/sh\n'''exec' '"), "{text}");
            assert!(text.lines().next().unwrap().len() <= FIRST_LINE_BYTES_MAX);
        }
    }

    #[test]
    fn only_a_python_line_is_rewritten() {
        assert_eq!(rewrite("/p", b"#!python\nx").unwrap(), b"#!/p\nx");
        assert_eq!(rewrite("/p", b"#!pythonw\r\nx").unwrap(), b"#!/p\nx");
        assert_eq!(rewrite("/p", b"#!python").unwrap(), b"#!/p\n");
        for other in [&b"#!/bin/sh\n"[..], b"#!python3\n", b"\x7fELF"] {
            assert_eq!(rewrite("/p", other), None);
        }
    }
}
