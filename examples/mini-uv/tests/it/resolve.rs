//! Which versions are chosen, and what is said when none can be.
//!
//! Each scenario is an index with a few packages and one request. The tool is asked with `--dry-run`,
//! so that one environment serves them all.

use crate::index::{Index, Manners};
use crate::wheel::Wheel;
use crate::world::{Environment, Ran, World};

/// A package version: name, version, requirements.
type Version<'a> = (&'a str, &'a str, &'a [&'a str]);

struct Scenario {
    world: World,
    environment: Environment,
    index: Index,
}

impl Scenario {
    fn new(versions: &[Version<'_>]) -> Self {
        let world = World::new();
        let environment = world.environment("env");
        let index = Index::start(Manners { metadata_files: true, ..Manners::default() });
        for (name, version, requires) in versions {
            let wheel = requires
                .iter()
                .fold(Wheel::module(name, version), |wheel, line| wheel.requires(line));
            index.add(&wheel);
        }
        Self { world, environment, index }
    }

    fn ask(&self, args: &[&str]) -> Ran {
        let url = self.index.url();
        let base = [
            "pip",
            "install",
            "--dry-run",
            "--python",
            self.environment.str(),
            "--index-url",
            &url,
        ];
        self.world.run(&[&base, args].concat())
    }

    /// The versions that would be installed, as `name==version`.
    #[track_caller]
    fn chosen(&self, args: &[&str]) -> Vec<String> {
        let ran = self.ask(args).success();
        ran.stderr.lines().filter_map(|line| line.strip_prefix(" + ")).map(str::to_owned).collect()
    }

    /// The explanation of why there is no solution.
    #[track_caller]
    fn explained(&self, args: &[&str]) -> String {
        let ran = self
            .ask(args)
            .failure(1, &["error: no solution found when resolving dependencies\n  cause: "]);
        ran.stderr
            .split("cause: ")
            .nth(1)
            .unwrap()
            .split("\nhint:")
            .next()
            .unwrap()
            .trim()
            .to_owned()
    }
}

#[test]
fn the_newest_version_that_fits_everything_wins() {
    let scenario = Scenario::new(&[
        ("a", "1.0", &["c<2"]),
        ("a", "2.0", &["c<2"]),
        ("b", "1.0", &["c>=1"]),
        ("c", "1.0", &[]),
        ("c", "1.5", &[]),
        ("c", "2.0", &[]),
    ]);
    assert_eq!(scenario.chosen(&["a", "b"]), ["a==2.0", "b==1.0", "c==1.5"]);
    assert_eq!(scenario.chosen(&["a<2", "c==1.0"]), ["a==1.0", "c==1.0"]);
    assert_eq!(scenario.chosen(&["A", "--no-deps"]), ["a==2.0"]);
    assert_eq!(scenario.chosen(&["c~=1.2"]), ["c==1.5"]);
    assert_eq!(scenario.chosen(&["c==1.*,!=1.5"]), ["c==1.0"]);
}

#[test]
fn the_search_goes_back_to_an_older_version_that_works() {
    let scenario = Scenario::new(&[
        ("a", "1.0", &[]),
        ("a", "2.0", &["b==2"]),
        ("a", "3.0", &["missing"]),
        ("b", "1.0", &[]),
        ("b", "2.0", &["c==9"]),
        ("c", "1.0", &[]),
    ]);
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
}

#[test]
fn a_conflict_is_explained_in_sentences() {
    let scenario = Scenario::new(&[
        ("a", "1.0", &["b==2.0"]),
        ("b", "1.0", &[]),
        ("b", "2.0", &[]),
        ("c", "1.0", &["a==1.0"]),
    ]);
    assert_eq!(
        scenario.explained(&["c", "b==1.0"]),
        "Because a==1.0 depends on b==2.0 and c==1.0 depends on a==1.0, we can conclude that c==1.0 depends on b==2.0.\n         \
         And because you require c and you require b==1.0, we can conclude that your requirements are unsatisfiable."
    );
    assert_eq!(
        scenario.explained(&["b==3.0"]),
        "Because there is no version of b==3.0 and you require b==3.0, we can conclude that your requirements are unsatisfiable."
    );
    assert!(
        scenario
            .explained(&["b==1.0", "b==2.0"])
            .contains("you require b==1.0 and you require b==2.0")
    );
    assert!(
        scenario.explained(&["nowhere"]).contains("nowhere was not found at `http://127.0.0.1")
    );
}

#[test]
fn a_request_that_nothing_satisfies_comes_with_what_may_help() {
    let scenario = Scenario::new(&[("b", "1.0", &[]), ("b", "2.0", &[]), ("b", "3.0a1", &[])]);
    scenario.index.add_source("c", "1.0");
    for (request, hint) in [
        ("b==4.0", "hint: the newest version of b is 2.0\n"),
        ("nowhere", "hint: check how `nowhere` is spelled"),
        ("c", "hint: build a wheel with `pip wheel --no-deps c==1.0`"),
    ] {
        scenario.ask(&[request]).failure(1, &["error: ", "cause: ", hint]);
    }
    let conflict = scenario.ask(&["b==1.0", "b==2.0"]).failure(1, &["cause: "]);
    assert!(!conflict.stderr.contains("hint: "), "{conflict:?}");
}

#[test]
fn extras_bring_their_own_requirements_and_no_others() {
    let scenario = Scenario::new(&[("b", "1.0", &[]), ("b", "2.0", &[]), ("c", "1.0", &[])]);
    scenario.index.add(
        &Wheel::module("a", "1.0")
            .header("Provides-Extra: one")
            .header("Provides-Extra: Two_X")
            .header("Provides-Extra: all")
            .requires("b==1.0; extra == 'one'")
            .requires("b==2.0; extra == 'two-x'")
            .requires("a[one]; extra == 'all'")
            .requires("c; extra == 'all' and python_version >= '3'")
            .requires("missing; extra == 'all' and python_version < '3'"),
    );
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    assert_eq!(scenario.chosen(&["a[one]"]), ["a==1.0", "b==1.0"]);
    assert_eq!(scenario.chosen(&["a[two.x]"]), ["a==1.0", "b==2.0"]);
    assert_eq!(scenario.chosen(&["a[all]"]), ["a==1.0", "b==1.0", "c==1.0"]);
    assert!(scenario.explained(&["a[one,two-x]"]).contains("a[one]"));
    let ran = scenario.ask(&["a[nope]"]).success();
    assert!(ran.stderr.contains("warning: a==1.0 has no extra named `nope`"), "{ran:?}");
}

#[test]
fn pre_releases_are_taken_when_asked_for_or_when_nothing_else_fits() {
    let scenario = Scenario::new(&[
        ("a", "1.0", &[]),
        ("a", "2.0a1", &[]),
        ("only", "1.0b1", &[]),
        ("only", "1.0b2", &[]),
        ("user", "1.0", &["a>=1.0a1"]),
    ]);
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    assert_eq!(scenario.chosen(&["a>=1.0a1"]), ["a==1.0"]);
    assert_eq!(scenario.chosen(&["a>1.0"]), ["a==2.0a1"]);
    assert_eq!(scenario.chosen(&["a", "--pre"]), ["a==2.0a1"]);
    assert_eq!(scenario.chosen(&["only"]), ["only==1.0b2"]);
    assert_eq!(scenario.chosen(&["user"]), ["a==1.0", "user==1.0"]);
    assert!(
        scenario
            .explained(&["a>1.0", "--prerelease", "disallow"])
            .contains("a==2.0a1 is a pre-release")
    );
    assert!(scenario.explained(&["only", "--prerelease", "explicit"]).contains("pre-release"));
}

#[test]
fn yanked_versions_are_taken_only_when_pinned() {
    let scenario = Scenario::new(&[("a", "1.0", &[]), ("b", "1.0", &["a>1.0"])]);
    scenario.index.add_with(&Wheel::module("a", "2.0"), None, true);
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    assert_eq!(scenario.chosen(&["a==2.0"]), ["a==2.0"]);
    assert_eq!(scenario.chosen(&["b", "a==2.0"]), ["a==2.0", "b==1.0"]);
    assert!(scenario.explained(&["b"]).contains("a==2.0 was yanked"));
}

#[test]
fn versions_for_another_python_are_passed_over() {
    let scenario = Scenario::new(&[("a", "1.0", &[])]);
    scenario.index.add_with(&Wheel::module("a", "2.0"), Some(">=3.99"), false);
    // Said by the metadata only, as an index may have no such field.
    scenario.index.add(&Wheel::module("a", "3.0").header("Requires-Python: >=3.98"));
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    assert!(scenario.explained(&["a==2.0"]).contains("a==2.0 requires Python >=3.99"));
    assert!(scenario.explained(&["a==3.0"]).contains("a==3.0 requires Python >=3.98"));
}

#[test]
fn wheels_for_another_platform_are_passed_over() {
    let scenario = Scenario::new(&[("a", "1.0", &[])]);
    scenario.index.add(&Wheel::module("a", "2.0").tag("py3-none-macosx_10_0_ppc64"));
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    let why = scenario.explained(&["a==2.0"]);
    assert!(
        why.contains(
            "a==2.0 has no wheel for this platform (only py3-none-macosx_10_0_ppc64; this is cp3"
        ),
        "{why}"
    );
    scenario.index.add(&Wheel::module("x", "1.0").tag("cp39-abi3-manylinux_2_28_aarch64"));
    assert_eq!(scenario.chosen(&["x", "--python-platform", "aarch64-manylinux_2_28"]), ["x==1.0"]);
}

#[test]
fn the_wheel_that_fits_best_is_chosen() {
    let scenario = Scenario::new(&[]);
    for (tag, marker) in [("py3-none-any", "any"), ("py2.py3-none-any", "both")] {
        scenario.index.add(
            &Wheel::module("a", "1.0").file("a/which.py", format!("WHICH = '{marker}'\n")).tag(tag),
        );
    }
    scenario.index.add(
        &Wheel::module("a", "1.0").file("a/which.py", "WHICH = 'build'\n").tag("7-py3-none-any"),
    );
    let url = scenario.index.url();
    scenario
        .world
        .run(&["pip", "install", "--python", scenario.environment.str(), "--index-url", &url, "a"])
        .success();
    assert_eq!(scenario.environment.python("import a.which; print(a.which.WHICH)"), "build");
}

#[test]
fn source_distributions_are_refused_with_the_way_out() {
    let scenario = Scenario::new(&[("a", "1.0", &[])]);
    scenario.index.add_source("a", "2.0");
    scenario.index.add_source("b", "1.0");
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0"]);
    assert!(
        scenario
            .explained(&["b"])
            .contains("b==1.0 has only a source distribution, which is not built here")
    );
    scenario.ask(&["./b-1.0.tar.gz"]).failure(2, &["source distribution", "hint: ", "pip wheel"]);
}

#[test]
fn markers_decide_for_this_environment() {
    let scenario = Scenario::new(&[
        ("a", "1.0", &["b; sys_platform == 'linux'", "missing; sys_platform == 'win32'"]),
        ("b", "1.0", &[]),
    ]);
    assert_eq!(scenario.chosen(&["a"]), ["a==1.0", "b==1.0"]);
    assert!(scenario.chosen(&["a; python_version < '3'"]).is_empty());
    assert!(scenario.explained(&["a", "--python-platform", "windows"]).contains("missing"));
}

#[test]
fn local_versions_satisfy_their_public_version() {
    let scenario =
        Scenario::new(&[("a", "1.0+cpu", &[]), ("a", "1.0+cu1", &[]), ("b", "1.0", &["a==1.0"])]);
    assert_eq!(scenario.chosen(&["a==1.0"]), ["a==1.0+cu1"]);
    assert_eq!(scenario.chosen(&["b", "a==1.0+cpu"]), ["a==1.0+cpu", "b==1.0"]);
    assert!(scenario.explained(&["a>1.0"]).contains("there is no version of a>1.0"));
}

#[test]
fn a_direct_wheel_beats_the_index_and_must_suit_the_others() {
    let scenario =
        Scenario::new(&[("a", "1.0", &[]), ("b", "1.0", &["a<3"]), ("c", "1.0", &["a<2"])]);
    let wheel = Wheel::module("a", "2.0").write(&scenario.world.wheels());
    let wheel = wheel.to_str().unwrap();
    assert_eq!(scenario.chosen(&["b", wheel]), ["a==2.0", "b==1.0"]);
    assert!(scenario.explained(&["c", wheel]).contains("all versions of c depend on a<2"));
    assert_eq!(scenario.chosen(&["b", &format!("a @ file://{wheel}")]), ["a==2.0", "b==1.0"]);
}

#[test]
fn folders_of_wheels_stand_in_for_an_index() {
    let world = World::new();
    let environment = world.environment("env");
    Wheel::module("a", "1.0").requires("b").write(&world.wheels());
    Wheel::module("b", "1.0").write(&world.wheels());
    std::fs::write(world.wheels().join("b-2.0.tar.gz"), "no wheel").unwrap();
    let links = world.wheels();
    let links = links.to_str().unwrap();
    world.install(&environment, &["--find-links", links, "a"]).success();
    assert_eq!(environment.python("import a, b; print(a.VERSION, b.VERSION)"), "1.0 1.0");
    world
        .install(&environment, &["--find-links", links, "c"])
        .failure(1, &["c was not found in the folders and pages of `--find-links`"]);
    world
        .install(&environment, &["--find-links", "/nowhere/at/all", "c"])
        .failure(2, &["is not a folder", "hint:"]);
}

#[test]
fn an_installed_version_stays_if_it_will_do() {
    let world = World::new();
    let environment = world.environment("env");
    let old = Wheel::module("b", "1.0").write(&world.wheels());
    world.install(&environment, &[old.to_str().unwrap()]).success();
    let index = Index::start(Manners::default());
    index.add(&Wheel::module("b", "2.0"));
    index.add(&Wheel::module("a", "1.0").requires("b"));
    index.add(&Wheel::module("c", "1.0").requires("b>1"));
    let url = index.url();
    let install = |name: &str| {
        world.run(&["pip", "install", "--python", environment.str(), "--index-url", &url, name])
    };
    install("a").success();
    assert_eq!(environment.python("import b; print(b.VERSION)"), "1.0");
    install("c").success();
    assert_eq!(environment.python("import b; print(b.VERSION)"), "2.0");
}
