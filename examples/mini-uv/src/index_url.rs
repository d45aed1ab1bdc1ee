//! Finds the address of the index. None is built in: it is the user's choice, or the interpreter's.
//!
//! In order: `--index-url`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `PIP_INDEX_URL`, pip's configuration
//! files, and last the default of the pip that comes with the interpreter, which is asked for it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use index_cache::Put;

use crate::cache::Cache;
use crate::fault::Advise;
use crate::interpreter::{self, Interpreter};

/// Prints the default index of the interpreter's bundled, or installed, pip.
const ASK_PIP: &str = "
import glob, os, sys
try:
    import ensurepip
    bundled = os.path.join(os.path.dirname(ensurepip.__file__), '_bundled', 'pip-*.whl')
    sys.path[:0] = glob.glob(bundled)
except ImportError:
    pass
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
";

/// The address of the index for `interpreter`.
pub(crate) fn find(
    flag: Option<&str>,
    interpreter: &Interpreter,
    cache: &Cache,
) -> anyhow::Result<String> {
    if let Some(url) = flag {
        return Ok(url.to_owned());
    }
    for name in ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"] {
        if let Some(url) = std::env::var(name).ok().filter(|url| !url.is_empty()) {
            return Ok(url);
        }
    }
    if let Some(url) = configuration_files(interpreter).iter().find_map(|file| configured(file)) {
        return Ok(url);
    }
    ask_pip(interpreter, cache).context("no index to ask is known").hint(
        "name one with `--index-url` or UV_DEFAULT_INDEX, or use `--find-links DIR --no-index`",
    )
}

/// pip's files, the most specific first.
fn configuration_files(interpreter: &Interpreter) -> Vec<PathBuf> {
    let name = if cfg!(windows) { "pip.ini" } else { "pip.conf" };
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME").or_else(|| variable("USERPROFILE"));
    let configuration = variable("XDG_CONFIG_HOME").or_else(|| Some(home.clone()?.join(".config")));
    let mut files = vec![interpreter.prefix.join(name)];
    files.extend(variable("PIP_CONFIG_FILE"));
    files.extend(configuration.map(|dir| dir.join("pip").join(name)));
    files.extend(home.map(|dir| dir.join(".pip").join(name)));
    files.extend(cfg!(unix).then(|| Path::new("/etc").join(name)));
    files
}

fn configured(file: &Path) -> Option<String> {
    index_url(&std::fs::read_to_string(file).ok()?)
}

/// `index-url` of the sections that `pip install` reads.
fn index_url(text: &str) -> Option<String> {
    let mut relevant = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            relevant = matches!(section.trim(), "global" | "install");
        } else if relevant
            && let Some((key, value)) = line.split_once(['=', ':'])
            && matches!(key.trim(), "index-url" | "index_url")
        {
            found = Some(value.trim().to_owned());
        }
    }
    found.filter(|url| !url.is_empty())
}

fn ask_pip(interpreter: &Interpreter, cache: &Cache) -> anyhow::Result<String> {
    let base = &interpreter.base_executable;
    let key = format!("pip-index/{}", base.display());
    let token = interpreter::token(base)?;
    let answer = if let Some(answer) = cache.body(&key, &token) {
        answer
    } else {
        let answer = interpreter::run(base, ASK_PIP)?;
        cache.put(&key, &Put::new().token(&token).body(&answer));
        answer
    };
    Ok(String::from_utf8(answer)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_that_an_install_reads_count() {
        assert_eq!(
            index_url("[global]\nindex-url = https://a.test/simple\n").as_deref(),
            Some("https://a.test/simple")
        );
        assert_eq!(
            index_url("[list]\nindex-url = https://a.test\n[install]\nindex_url: https://b.test\n")
                .as_deref(),
            Some("https://b.test")
        );
        assert_eq!(index_url("[global]\ntimeout = 1\n"), None);
    }
}
