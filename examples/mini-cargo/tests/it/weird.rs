//! Manifests and lock files as they are met in the wild, each judged by real cargo.

use std::fs;

use serde_json::json;

use crate::home::{Crate, Home, Project};

fn registry() -> Home {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1"),
        Crate::new("a", "1.1.0").needs("b", "1"),
        Crate::new("b", "1.0.0").feature("default", &["std"]).feature("std", &[]),
        Crate::new("b", "1.2.0-rc.1"),
        Crate::new("b", "1.2.0+meta.1"),
        Crate::new("b", "2.0.0"),
        Crate::new("opt", "1.0.0")
            .dep("b", "1", &json!({"optional": true}))
            .feature("x", &["b?/std"]),
    ]);
    home
}

fn package(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{rest}")
}

/// A workspace with a root manifest and members with their manifests.
fn workspace<'a>(home: &'a Home, root: &str, members: &[(&str, &str)]) -> Project<'a> {
    let project = home.project(&[("Cargo.toml", root)]);
    for (path, text) in members {
        project.write(&format!("{path}/Cargo.toml"), text);
        project.write(&format!("{path}/src/lib.rs"), "");
    }
    project
}

/// The cases that were not alike, all of them at the end.
#[derive(Default)]
struct Verdicts(Vec<String>);

impl Verdicts {
    fn alike(&mut self, what: &str, project: &Project<'_>, args: &[&str]) {
        let different = project.alike(args).err();
        self.0.extend(different.map(|difference| format!("{what}\n{difference}")));
    }

    fn locks_alike(&mut self, home: &Home, rest: &str) {
        let project = home.package(rest);
        self.alike(rest, &project, &["generate-lockfile"]);
        drop(fs::remove_dir_all(&project.dir));
    }

    #[track_caller]
    fn assert(self) {
        assert!(self.0.is_empty(), "{} differ:\n\n{}", self.0.len(), self.0.join("\n\n"));
    }
}

#[test]
fn every_spelling_of_a_requirement_is_understood_or_refused_as_cargo_does() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    for requirement in [
        "1",
        "1.2",
        "=1.2.0",
        "=1.2.0+other",
        "~1.0",
        "1.*",
        "*",
        ">=1, <2",
        ">1.0.0, <=1.2.0",
        "1.2.0-rc.1",
        "=1.2.0-rc.1",
        ">=1.2.0-rc.1, <3",
        "^1.2.0-rc.2",
        "01.2",
        "",
        "1.x",
        "^",
        "1 2",
        "1.0.0.0",
        ">= 1 , < 3",
        "v1",
        "latest",
        "0",
        ">2",
    ] {
        verdicts.locks_alike(&home, &format!("[dependencies]\nb = \"{requirement}\"\n"));
    }
    verdicts.assert();
}

#[test]
fn every_form_of_a_dependency_table_is_understood_or_refused_as_cargo_does() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    for rest in [
        "[dependencies]\na = {}\n",
        "[dependencies]\na = { version = \"1\", optional = true }\n",
        "[dependencies]\na = { version = \"1\", optional = true }\n[features]\nf = [\"dep:a\"]\n",
        "[dependencies]\na = { version = \"1\", optional = true }\n[features]\na = [\"dep:a\"]\n",
        "[dependencies]\na = { version = \"1\", optional = true }\n[features]\na = []\n",
        "[dependencies]\na = \"1\"\n[features]\nf = [\"dep:a\"]\n",
        "[dependencies]\nb = { version = \"1\", optional = true }\n[features]\nf = [\"b?/std\"]\n",
        "[dependencies]\nb = { version = \"1\", optional = true }\n[features]\nf = [\"b?/none\"]\n",
        "[dependencies]\nb = \"1\"\n[features]\nf = [\"b?/std\"]\n",
        "[dependencies]\nb = \"1\"\n[features]\nf = [\"dep:b/std\"]\n",
        "[dependencies]\nb = \"1\"\n[features]\nf = [\"g\"]\ng = [\"f\"]\n",
        "[dependencies]\nb = \"1\"\n[features]\n\"a/b\" = []\n",
        "[dependencies]\nb = \"1\"\n[features]\n\"dep:b\" = []\n",
        "[dependencies]\nb = { version = \"1\", features = [\"none\"] }\n",
        "[dependencies]\nopt = { version = \"1\", features = [\"x\"] }\n",
        "[dependencies]\nopt = { version = \"1\", features = [\"b\"] }\n",
        "[dependencies]\none = { package = \"a\", version = \"1\" }\ntwo = { package = \"a\", version = \"1.0\" }\n",
        "[dependencies]\nb = \"1\"\n[dev-dependencies]\nb = \"2\"\n[build-dependencies]\nb = \"1\"\n",
        "[dependencies]\nb = { version = \"1\", unknown = true }\n",
        "[dependencies]\nb = { version = 1 }\n",
        "[dependencies]\nb = { version = \"1\", path = \"nowhere\" }\n",
        "[dev-dependencies]\na = { version = \"1\", optional = true }\n",
        "[target.'cfg(all(unix, not(target_os = \"macos\")))'.dependencies]\na = \"1\"\n",
        "[target.'cfg(feature = \"x\")'.dependencies]\na = \"1\"\n",
        "[target.'cfg(unix'.dependencies]\na = \"1\"\n",
        "[target.'cfg(a b)'.dependencies]\na = \"1\"\n",
        "[target.x86_64-unknown-linux-gnu.dependencies]\na = \"1\"\n",
        "[target.\"not a triple\".dependencies]\na = \"1\"\n",
        "[dependencies]\nA = \"1\"\n",
        "[dependencies]\n\"a b\" = \"1\"\n",
    ] {
        verdicts.locks_alike(&home, rest);
    }
    verdicts.assert();
}

#[test]
fn members_are_cargos_members() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    let (a, b) = (package("a-member", "[dependencies]\na = \"1\"\n"), package("b-member", ""));
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "members = [\"crates/*\"]\nexclude = [\"crates/two\"]\n",
            &[("crates/one", &a), ("crates/two", &b)],
        ),
        ("members = [\"crates/*\", \"crates/one\"]\n", &[("crates/one", &a), ("crates/two", &b)]),
        ("members = [\"./crates/one/\"]\n", &[("crates/one", &a)]),
        ("members = [\"crates/../crates/one\"]\n", &[("crates/one", &a)]),
        ("members = [\"crates/**\"]\n", &[("crates/one", &a), ("crates/deep/two", &b)]),
        ("members = [\"nothing/*\"]\n", &[("crates/one", &a)]),
        ("members = [\"nothing\"]\n", &[("crates/one", &a)]),
        ("members = [\"crates/o[nm]e\"]\n", &[("crates/one", &a)]),
        ("members = []\n", &[("crates/one", &a)]),
        ("members = [\"one\"]\nexclude = [\"one\"]\n", &[("one", &a)]),
        ("members = [\"one\", \"two\"]\n", &[("one", &a), ("two", &a)]),
    ];
    for (table, members) in cases {
        let project = workspace(&home, &format!("[workspace]\nresolver = \"2\"\n{table}"), members);
        project.write("crates/plain.txt", "no folder");
        verdicts.alike(table, &project, &["generate-lockfile"]);
        fs::create_dir_all(project.dir.join("crates/empty")).unwrap();
        project.write("crates/.hidden/notes.txt", "no package");
        verdicts.alike(table, &project, &["generate-lockfile"]);
        fs::remove_dir_all(&project.dir).unwrap();
    }
    verdicts.assert();
}

#[test]
fn resolvers_and_editions_are_cargos() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    for resolver in ["1", "2", "3", "4", ""] {
        verdicts
            .locks_alike(&home, &format!("resolver = \"{resolver}\"\n[dependencies]\na = \"1\"\n"));
    }
    let workspaces = [
        "[workspace]\nmembers = [\"one\"]\n",
        "[workspace]\nmembers = [\"one\"]\nresolver = \"3\"\n",
        "[workspace]\nmembers = [\"one\"]\nresolver = \"9\"\n",
    ];
    for root in workspaces {
        for edition in ["2015", "2021", "2024"] {
            let one = package("one", "[dependencies]\na = \"1\"\n").replace("2021", edition);
            let project = workspace(&home, root, &[("one", &one)]);
            verdicts.alike(root, &project, &["generate-lockfile"]);
            fs::remove_dir_all(&project.dir).unwrap();
        }
    }
    verdicts.assert();
}

#[test]
fn inherited_dependencies_are_cargos() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    let shared = [
        "\"1\"",
        "{ version = \"1\", default-features = false }",
        "{ version = \"1\", optional = true }",
    ];
    let own = [
        "b.workspace = true",
        "b = { workspace = true, default-features = false }",
        "b = { workspace = true, default-features = true }",
        "b = { workspace = true, features = [\"std\"], optional = true }",
        "b = { workspace = true, version = \"2\" }",
        "b = { workspace = false }",
        "missing.workspace = true",
    ];
    for shared in shared {
        let root = format!(
            "[workspace]\nmembers = [\"one\"]\nresolver = \"2\"\n[workspace.dependencies]\nb = {shared}\n"
        );
        for own in own {
            for edition in ["2021", "2024"] {
                let rest = format!("[dependencies]\n{own}\n");
                let one = package("one", &rest).replace("2021", edition);
                let project = workspace(&home, &root, &[("one", &one)]);
                verdicts.alike(own, &project, &["generate-lockfile"]);
                fs::remove_dir_all(&project.dir).unwrap();
            }
        }
    }
    verdicts.assert();
}

#[test]
fn members_that_test_each_other_are_no_cycle() {
    let home = registry();
    let root = "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n";
    let one = package("one", "[dev-dependencies]\ntwo = { path = \"../two\" }\n");
    let two = package("two", "[dependencies]\none = { path = \"../one\" }\na = \"1\"\n");
    workspace(&home, root, &[("one", &one), ("two", &two)]).assert_alike(&["generate-lockfile"]);
    let one = one.replace("dev-dependencies", "dependencies");
    let project = workspace(&home, root, &[("one", &one), ("two", &two)]);
    project.assert_alike(&["generate-lockfile"]).failure();
}

/// Lock files that both programs bring up to date, keep or refuse.
#[test]
fn a_lock_file_in_any_state_is_treated_as_cargo_does() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    let project = home.package("[dependencies]\na = \"1\"\n");
    let good = project.assert_same_lock();
    let older = good.replace("1.1.0", "1.0.0");
    let changes: &[(&str, String)] = &[
        ("as it is", good.clone()),
        ("version 3", good.replace("version = 4", "version = 3")),
        ("version 5", good.replace("version = 4", "version = 5")),
        ("no version", good.replace("version = 4\n", "")),
        ("carriage returns", good.replace('\n', "\r\n")),
        ("no last newline", good.trim_end().to_owned()),
        ("empty", String::new()),
        ("only the header", good.split("[[package]]").next().unwrap().to_owned()),
        (
            "conflict markers",
            good.replace("[[package]]\nname = \"a\"", "<<<<<<< ours\n[[package]]\nname = \"a\""),
        ),
        ("an unknown key", good.replace("name = \"a\"\n", "name = \"a\"\nwhat = 1\n")),
        ("a package too many", format!("{good}\n[[package]]\nname = \"c\"\nversion = \"1.0.0\"\n")),
        ("a package twice", format!("{good}\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n")),
        ("a dependency that dangles", good.replace("\"a\",", "\"a\",\n \"zz\",")),
        (
            "another order",
            good.replacen(
                "[[package]]",
                "[[patch.unused]]\nname = \"b\"\nversion = \"9.0.0\"\n\n[[package]]",
                1,
            ),
        ),
        (
            "an unused patch",
            format!("{good}\n[[patch.unused]]\nname = \"b\"\nversion = \"9.0.0\"\n"),
        ),
        (
            "no checksum",
            good.split_inclusive('\n').filter(|line| !line.starts_with("checksum")).collect(),
        ),
        ("metadata", format!("{good}\n[metadata]\nx = \"y\"\n")),
        ("no text", "\u{0}\u{1}".to_owned()),
        ("bad version", good.replace("1.1.0", "1.1")),
        ("own version", good.replace("0.1.0", "0.2.0")),
    ];
    for (what, text) in changes {
        for args in [
            &["update", "--workspace"][..],
            &["update", "-p", "a"],
            &["update", "--workspace", "--locked"],
            &["generate-lockfile"],
        ] {
            project.write("Cargo.lock", text);
            verdicts.alike(what, &project, args);
        }
    }
    // A checksum that is not the registry's is a matter of trust, not of bringing up to date.
    let checksum = older.split("checksum = \"").nth(1).unwrap()[..64].to_owned();
    project.write("Cargo.lock", good.replace(&checksum, &"0".repeat(64)));
    verdicts.alike("another checksum", &project, &["update", "--workspace"]);
    verdicts.assert();
}

#[test]
fn patches_of_any_kind_are_cargos() {
    let home = registry();
    let mut verdicts = Verdicts::default();
    for (patch, version) in [
        ("b = { path = \"b\" }", "1.5.0"),
        ("b = { path = \"b\" }", "2.5.0"),
        ("b = { path = \"b\" }", "3.0.0"),
        ("renamed = { path = \"b\", package = \"b\" }", "1.5.0"),
        ("b = { path = \"b\", version = \"1\" }", "1.5.0"),
        ("b = { path = \"b\", version = \"9\" }", "1.5.0"),
        ("b = \"1\"", "1.5.0"),
        ("b = { path = \"nowhere\" }", "1.5.0"),
        ("other = { path = \"b\" }", "1.5.0"),
    ] {
        let root =
            package("app", &format!("[dependencies]\na = \"1\"\n[patch.crates-io]\n{patch}\n"));
        let b = package("b", "").replace("0.1.0", version);
        let project = workspace(&home, &root, &[("b", &b)]);
        project.write("src/lib.rs", "");
        verdicts.alike(patch, &project, &["generate-lockfile"]);
        verdicts.alike(patch, &project, &["update", "--workspace"]);
        project.write("Cargo.toml", root.split("[patch").next().unwrap());
        verdicts.alike(patch, &project, &["update", "--workspace"]);
        fs::remove_dir_all(&project.dir).unwrap();
    }
    verdicts.assert();
}
