//! What is checked. Cheap and likely failures come first; nothing here decides how steps are run.
//!
//! What each of the later steps shows, and what it does not, stands in `docs/PLATFORMS.md`.

/// One step: its name, its command (words without quoting) and additional environment.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) command: &'static str,
    pub(super) environment: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, command: &'static str) -> Step {
    Step { name, command, environment: &[] }
}

/// The crates that are for other people's programs, and the one that measures them.
macro_rules! libraries {
    () => {
        "-p bench-util -p cas-store -p deferred-close -p index-cache -p stream-extract"
    };
}

/// Where bytes of a file or an archive are interpreted.
macro_rules! byte_formats {
    () => {
        "-p index-cache -p cas-store -p stream-extract --lib -- --skip crash --skip faults"
    };
}

/// The first step is the README's test command, to the letter.
pub(super) const STEPS: &[Step] = &[
    step("tests", "cargo test --workspace"),
    step("format", "cargo fmt --all --check"),
    step("lints", "cargo clippy --workspace --all-targets --all-features -- -D warnings"),
    Step {
        name: "documentation",
        command: "cargo doc --workspace --no-deps --all-features",
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    step(
        "supply chain",
        "cargo deny check -D unnecessary-skip -D unmatched-skip bans licenses sources",
    ),
    step("spelling", "typos"),
    // Against docs/api.
    step("interfaces", "cargo xtask api"),
    step("older compiler", ".ci/older-compiler"),
    // Every interleaving of the closing queue, and thousands of random ones of larger cases.
    Step {
        name: "schedules (loom)",
        command: "cargo test -p deferred-close --release --test model",
        environment: &[("RUSTFLAGS", "--cfg loom")],
    },
    Step {
        name: "schedules (shuttle)",
        command: "cargo test -p deferred-close --release --test model",
        environment: &[("RUSTFLAGS", "--cfg shuttle")],
    },
    step("soak", "cargo xtask soak --minutes 2"),
    step(
        "windows lints",
        concat!(
            ".ci/cross x86_64-pc-windows-gnu clippy --all-targets ",
            libraries!(),
            " -- -D warnings"
        ),
    ),
    // The programs themselves; their tests drive Unix tools.
    step(
        "windows installers",
        ".ci/cross x86_64-pc-windows-gnu clippy -p mini-uv -p mini-cargo -- -D warnings",
    ),
    // Windows programs run under Wine. The libraries only: the installers' tests drive Unix tools.
    step("windows tests", concat!("cargo xtask windows ", libraries!())),
    // Type checks, because nothing can be linked.
    step("msvc types", concat!(".ci/cross x86_64-pc-windows-msvc check --tests ", libraries!())),
    step("macos types", concat!(".ci/cross aarch64-apple-darwin check --tests ", libraries!())),
    // The byte formats where words are short and bytes are swapped. What a test does with crashes,
    // processes and other programs is no matter of bytes, and too slow under emulation.
    step("big-endian", concat!(".ci/cross s390x-unknown-linux-gnu test ", byte_formats!())),
    step("32-bit", concat!(".ci/cross i686-unknown-linux-gnu test ", byte_formats!())),
    // The pinned compiler has the sanitizer's library, and the variable lets it be used. Leaks are no
    // finding here: deferred-close leaks a panic's value that panics when it is dropped, on purpose.
    Step {
        name: "address sanitizer",
        command: concat!(
            "cargo test --no-fail-fast --target x86_64-unknown-linux-gnu ",
            libraries!()
        ),
        environment: &[
            ("RUSTC_BOOTSTRAP", "1"),
            ("ASAN_OPTIONS", "detect_leaks=0"),
            ("RUSTFLAGS", "-Zsanitizer=address"),
            ("RUSTDOCFLAGS", "-Zsanitizer=address"),
        ],
    },
    // Seconds for each target.
    step("fuzzing", ".ci/fuzz 60"),
];
