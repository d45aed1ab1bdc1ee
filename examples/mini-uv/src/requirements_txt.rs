//! Reads requirements files: pip's format, with the options that change what is installed.
//!
//! Files may include others (`-r`, `-c`); a digest on any requirement makes digests mandatory for
//! all, as pip has it. An option that is not known is an error: ignoring it could install something
//! else. Editable requirements are refused.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::fault::Advise;
use crate::record;
use crate::request::Request;

/// What a set of files asks for.
#[derive(Debug, Default)]
pub(crate) struct Requirements {
    /// The folder that paths of wheels are relative to, in files too: pip and uv have it so.
    pub(crate) paths_from: PathBuf,
    pub(crate) requests: Vec<Request>,
    pub(crate) constraints: Vec<Request>,
    pub(crate) index_url: Option<String>,
    pub(crate) extra_index_url: Vec<String>,
    pub(crate) find_links: Vec<String>,
    pub(crate) no_index: bool,
    pub(crate) require_hashes: bool,
    pub(crate) pre: bool,
}

impl Requirements {
    /// Adds the requirements of the file at `path`.
    pub(crate) fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        self.read_nested(path, false, &mut Vec::new())
    }

    /// Adds the requirements of the file at `path` as constraints.
    pub(crate) fn read_constraints(&mut self, path: &Path) -> anyhow::Result<()> {
        self.read_nested(path, true, &mut Vec::new())
    }

    fn read_nested(
        &mut self,
        path: &Path,
        constrain: bool,
        open: &mut Vec<PathBuf>,
    ) -> anyhow::Result<()> {
        let path = std::path::absolute(path)?;
        ensure!(!open.contains(&path), "`{}` includes itself", path.display());
        let text = fs_err::read_to_string(&path)
            .hint("`-r` and `-c` take the path of a requirements file")?;
        open.push(path.clone());
        // Some editors start a file with a mark of its encoding.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (number, line) in logical_lines(text) {
            self.line(&line, &path, constrain, open)
                .with_context(|| format!("failed to read line {number} of `{}`", path.display()))?;
        }
        open.pop();
        Ok(())
    }

    fn line(
        &mut self,
        line: &str,
        path: &Path,
        constrain: bool,
        open: &mut Vec<PathBuf>,
    ) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        if !line.starts_with('-') {
            let request = requirement(line, &self.paths_from)?;
            self.require_hashes |= !request.hashes.is_empty() && request.direct.is_none();
            let list = if constrain { &mut self.constraints } else { &mut self.requests };
            list.push(request);
            return Ok(());
        }
        let (option, value) = split_option(line);
        match option {
            "-r" | "--requirement" => self.read_nested(&folder.join(value), constrain, open)?,
            "-c" | "--constraint" => self.read_nested(&folder.join(value), true, open)?,
            "-i" | "--index-url" => self.index_url = Some(value.to_owned()),
            "--extra-index-url" => self.extra_index_url.push(value.to_owned()),
            "-f" | "--find-links" => self.find_links.push(place(value, folder)),
            "--no-index" => self.no_index = true,
            "--require-hashes" => self.require_hashes = true,
            "--pre" => self.pre = true,
            // Only wheels are ever installed.
            "--only-binary" | "--prefer-binary" => {}
            "-e" | "--editable" => {
                return Err(anyhow::anyhow!("editable requirements are not supported"))
                    .hint(format!("build a wheel instead: `pip wheel --no-deps {value}`"));
            }
            _ => bail!("the option `{option}` is not known"),
        }
        Ok(())
    }
}

/// A requirement with its `--hash` options.
fn requirement(line: &str, paths_from: &Path) -> anyhow::Result<Request> {
    let mut parts = line.split(" --hash");
    let mut request = Request::parse(parts.next().unwrap_or_default(), paths_from)?;
    for part in parts {
        let value = part.trim_start_matches([' ', '=']).trim();
        match value.split_once(':') {
            Some(("sha256", hex)) => {
                request
                    .hashes
                    .push(record::unhex(hex).with_context(|| format!("`{hex}` is no SHA-256"))?);
            }
            // Weaker and longer digests are left to the SHA-256 beside them.
            Some(("sha384" | "sha512" | "md5", _)) => {}
            _ => bail!("`--hash={value}` is not `sha256:` and 64 digits"),
        }
    }
    if line.contains(" --hash") && request.hashes.is_empty() {
        return Err(anyhow::anyhow!("it has no SHA-256 digest, which is the kind that is checked"))
            .hint("add `--hash=sha256:...`: `pip hash FILE` prints it");
    }
    Ok(request)
}

/// Where `--find-links` leads: from the file's folder if there is such a place, as pip has it.
fn place(value: &str, folder: &Path) -> String {
    let beside = folder.join(value);
    if beside.exists() { beside.display().to_string() } else { value.to_owned() }
}

fn split_option(line: &str) -> (&str, &str) {
    let end = line.find([' ', '=', '\t']).unwrap_or(line.len());
    let (option, value) = line.split_at(end);
    (option, value.trim_start_matches([' ', '=', '\t']).trim())
}

/// Lines without comments, continued lines joined, environment variables filled in.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut pending: Option<(usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let (number, mut joined) = pending.take().unwrap_or((at + 1, String::new()));
        let line = without_comment(line);
        if let Some(head) = line.strip_suffix('\\') {
            joined.push_str(head);
            pending = Some((number, joined));
        } else {
            joined.push_str(line);
            lines.push((number, joined));
        }
    }
    lines.extend(pending);
    let filled = lines.into_iter().map(|(number, line)| (number, fill_in(line.trim())));
    filled.filter(|(_, line)| !line.is_empty()).collect()
}

/// A comment starts a line or follows a space: `#` is also part of addresses.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.find(" #").map_or(line, |at| &line[..at]).trim_end_matches('\r')
}

/// `${NAME}` in capitals, as pip has it; a variable that is not set stays as it is.
fn fill_in(line: &str) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((head, tail)) = rest.split_once("${") {
        filled.push_str(head);
        let Some((name, after)) = tail.split_once('}') else {
            rest = &rest[head.len()..];
            break;
        };
        match std::env::var(name) {
            Ok(value) => filled.push_str(&value),
            Err(_) => filled.extend(["${", name, "}"]),
        }
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> anyhow::Result<Requirements> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let mut requirements = Requirements::default();
        requirements.read(&dir.path().join(files[0].0))?;
        Ok(requirements)
    }

    #[test]
    fn comments_continuations_digests_and_includes_are_read() {
        let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let main = format!(
            "# c\na==1 \\\n  --hash=sha256:{digest} \\\n  --hash=sha512:00 # why\n\n-r more.txt\n-c limits.txt\n--index-url https://host.test/simple\n"
        );
        let read = read(&[
            ("main.txt", &main),
            ("more.txt", "b>=2 ; os_name == 'nt'\n"),
            ("limits.txt", "c<3\n"),
        ])
        .unwrap();
        let names: Vec<_> = read.requests.iter().map(|request| request.name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(read.requests[0].hashes.len(), 1);
        assert!(read.require_hashes);
        assert_eq!(read.constraints[0].name.to_string(), "c");
        assert_eq!(read.index_url.as_deref(), Some("https://host.test/simple"));
    }

    #[test]
    fn what_cannot_be_honoured_is_an_error_with_its_line() {
        for text in [
            "a\n--no-binary :all:\n",
            "a\n-e .\n",
            "a\nb --hash=md5:00\n",
            "a\n-r main.txt\n",
            "a\n!!\n",
        ] {
            let error = read(&[("main.txt", text)]).unwrap_err();
            assert!(error.to_string().starts_with("failed to read line 2 of"), "{error}");
        }
    }

    #[test]
    fn folders_of_wheels_are_found_from_the_file_that_names_them() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("wheels")).unwrap();
        let file = dir.path().join("main.txt");
        std::fs::write(&file, "\u{feff}--find-links wheels\n-f elsewhere\n-f https://host.test/\n")
            .unwrap();
        let mut requirements = Requirements::default();
        requirements.read(&file).unwrap();
        let wheels = dir.path().join("wheels").display().to_string();
        assert_eq!(requirements.find_links, [&*wheels, "elsewhere", "https://host.test/"]);
    }

    #[test]
    fn only_set_variables_are_filled_in() {
        assert_eq!(fill_in("${MINI_UV_NOT_SET}/x ${PATH"), "${MINI_UV_NOT_SET}/x ${PATH");
        assert!(fill_in("a${PATH}b").len() > "a${PATH}b".len() - 7);
    }
}
