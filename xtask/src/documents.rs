//! Documents name files and public items; what is renamed must not live on in them.
//!
//! Tests only: each reads the documents that git tracks and looks for what they name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell;

fn read(path: impl AsRef<Path>) -> String {
    let path = shell::workspace().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents() -> Vec<PathBuf> {
    let mut list = Command::new("git");
    list.current_dir(shell::workspace()).args(["ls-files", "*.md"]);
    let listed = shell::output(&mut list).expect("a checkout");
    listed.lines().map(PathBuf::from).collect()
}

/// What stands between `](` and `)`, without its anchor.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or_default())
}

/// What stands between two backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The walks of `ARCHITECTURE.md`, and the folder whose files each one names.
fn walks(text: &str) -> Vec<(&str, Option<&str>)> {
    let walks = text.split("\n## ").filter(|section| section.starts_with("Walk: "));
    let source = |walk| quoted(walk).find(|name| name.ends_with("/src"));
    walks.map(|walk| (walk, source(walk))).collect()
}

/// `Group<'scope>::wait` is written `Group::wait` in documents.
fn without_lifetimes(items: &str) -> String {
    let mut parts = items.split("<'");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('>').map_or(part, |(_, rest)| rest))
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 20, "{documents:?}");
    for document in documents {
        let folder = shell::workspace().join(document.parent().expect("a file"));
        let text = read(&document);
        let is_elsewhere = |link: &&str| link.is_empty() || link.contains("://");
        for link in links(&text).filter(|link| !is_elsewhere(link)) {
            let is_item = link.contains("::") || !link.contains(['.', '/']);
            assert!(is_item || folder.join(link).exists(), "{}: `{link}`", document.display());
        }
    }
}

#[test]
fn the_walks_name_files_and_public_items_that_are_there() {
    let text = read("ARCHITECTURE.md");
    let items: String = ["cas-store", "deferred-close", "index-cache", "stream-extract"]
        .map(|library| read(format!("docs/api/{library}.txt")))
        .map(|items| without_lifetimes(&items))
        .concat();
    let walks = walks(&text);
    assert_eq!(walks.len(), 3);
    for (walk, source) in walks {
        for name in quoted(walk) {
            if let Some(source) =
                source.filter(|_| Path::new(name).extension() == Some("rs".as_ref()))
            {
                assert!(shell::workspace().join(source).join(name).is_file(), "no `{name}`");
            } else if name.contains("::") {
                assert!(items.contains(name), "no public `{name}`");
            }
        }
    }
}
