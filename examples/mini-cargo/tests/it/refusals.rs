//! What cannot be locked is refused in cargo's words, with its exit code.

use serde_json::json;

use crate::home::{Crate, Home, Project};

/// What the message says about packages and versions; advice is worded anew now and then.
fn essence(stderr: &str) -> String {
    let text = stderr.split("error: ").nth(1).unwrap_or(stderr);
    let advice = [
        "note: ",
        "help: ",
        "for more",
        "Only one package in",
        "available features",
        "An optional dependency with",
        "A required dependency with",
    ];
    let lines = text.lines().map(|line| line.trim_end_matches(['.', ' ']));
    let facts = lines.filter(|line| {
        !line.is_empty() && !advice.iter().any(|start| line.trim_start().starts_with(start))
    });
    facts.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_same_refusal(project: &Project<'_>) -> String {
    let (theirs, ours) = project.refusals();
    assert_eq!(essence(&ours), essence(&theirs), "ours is left, cargo's is right");
    ours
}

#[test]
fn an_impossible_requirement_lists_the_versions_there_are() {
    let home = Home::new();
    for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] {
        home.publish(&Crate::new("a", version));
    }
    assert_same_refusal(&home.package("[dependencies]\na = \"2\"\n"));
}

#[test]
fn a_requirement_that_only_yanked_versions_meet_says_so() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("a", "2.0.0").yanked()]);
    assert_same_refusal(&home.package("[dependencies]\na = \"2\"\n"));
}

#[test]
fn two_packages_that_link_one_library_are_named() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("z-sys", "1.0.0").links("z"),
        Crate::new("y-sys", "1.0.0").links("z"),
        Crate::new("a", "1.0.0").needs("y-sys", "1"),
    ]);
    assert_same_refusal(&home.package("[dependencies]\na = \"1\"\nz-sys = \"1\"\n"));
}

#[test]
fn versions_that_exclude_each_other_are_named_with_their_chains() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("shared", "=1.0.0"),
        Crate::new("b", "1.0.0").needs("c", "1"),
        Crate::new("c", "1.0.0").needs("shared", "=1.1.0"),
        Crate::new("shared", "1.0.0"),
        Crate::new("shared", "1.1.0"),
    ]);
    assert_same_refusal(&home.package("[dependencies]\na = \"1\"\nb = \"1\"\n"));
}

#[test]
fn a_feature_that_is_missing_hidden_or_required_is_explained() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0")
            .dep("hidden", "1", &json!({"optional": true}))
            .needs("required", "1")
            .feature2("f", &["dep:hidden"]),
        Crate::new("hidden", "1.0.0"),
        Crate::new("required", "1.0.0"),
    ]);
    for feature in ["nope", "hidden", "required"] {
        let manifest =
            format!("[dependencies]\na = {{ version = \"1\", features = [\"{feature}\"] }}\n");
        assert_same_refusal(&home.package(&manifest));
    }
}

#[test]
fn features_that_contain_themselves_are_refused() {
    let home = Home::new();
    home.publish(&Crate::new("a", "1.0.0").feature("x", &["x"]));
    let project = home.package("[dependencies]\na = { version = \"1\", features = [\"x\"] }\n");
    let (theirs, ours) = project.refusals();
    assert!(
        theirs.contains("cyclic feature dependency: feature `x` depends on itself"),
        "{theirs}"
    );
    assert!(ours.contains("cyclic feature dependency: feature `x` depends on itself"), "{ours}");
}

#[test]
fn packages_that_depend_on_themselves_are_refused() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1"),
        Crate::new("b", "1.0.0").needs("a", "1"),
    ]);
    let (theirs, ours) = home.package("[dependencies]\na = \"1\"\n").refusals();
    assert!(theirs.contains("cyclic package dependency"), "{theirs}");
    assert!(ours.contains("cyclic package dependency"), "{ours}");
}

#[test]
fn an_unknown_package_is_named_with_one_of_a_similar_name() {
    let home = Home::new();
    home.publish(&Crate::new("serde_like", "1.0.0"));
    let project = home.package("[dependencies]\nserde-like = \"1\"\n");
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("no matching package named `serde-like` found");
    ran.says("serde_like").says("required by package `app v0.1.0");
}

#[test]
fn git_and_other_registries_are_refused_with_file_and_line() {
    let home = Home::new();
    let project =
        home.package("[dependencies]\nplain = \"1\"\nfar = { git = \"file:///nowhere\" }\n");
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("Cargo.toml:7").says("dependency `far` comes from git").says("help:");
    let project = home.package("[dependencies.other]\nversion = \"1\"\nregistry = \"mine\"\n");
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("Cargo.toml:5").says("`other` comes from another registry");
}

#[test]
fn a_lock_that_would_change_is_refused_under_locked_and_stays() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("b", "1.0.0")]);
    let project = home.package("[dependencies]\na = \"1\"\n");
    let before = project.assert_same_lock();
    let text = project.read("Cargo.toml");
    project.write("Cargo.toml", format!("{text}b = \"1\"\n"));
    let ran = project.mini(&["update", "--workspace", "--locked", "--offline"]);
    ran.failure().says("because --locked was passed to prevent this");
    assert_eq!(project.read("Cargo.lock"), before);
}

#[test]
fn a_lock_file_of_nonsense_or_of_the_future_is_refused_and_stays() {
    let home = Home::new();
    let project = home.package("");
    for text in ["version = 4\n[[package]\n", "version = 99\n"] {
        project.write("Cargo.lock", text);
        let ran = project.mini(&["update", "--offline"]);
        ran.failure().says("failed to parse lock file at").says("Cargo.lock");
        assert_eq!(project.read("Cargo.lock"), text);
    }
}
