#!/usr/bin/env bash
# Builds the published cargo with its index cache replaced by this crate, and compares its lock files
# with those of the cargo that is installed. Needs a network, a C compiler, and half an hour of two
# slow cores.
#
# usage: cargo_trial.sh FOLDER [VERSION]     FOLDER is made; VERSION of the cargo package, 0.96.0
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && cd "$1"
version=${2:-0.96.0}
top=$PWD

# The published source, through the ordinary client.
cargo new --quiet --lib fetched
(cd fetched && cargo add --quiet "cargo@=$version" && cargo fetch --quiet)
cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"cargo-$version" patched

# The shim in the place of `CacheManager`, and one more dependency.
python3 - "$here" patched <<'PATCH'
import pathlib, sys
crate, cargo = map(pathlib.Path, sys.argv[1:])
[source] = cargo.glob("**/sources/registry/index/cache.rs")
text = source.read_text()
start = text.index("/// Manages the on-disk index caches.\npub struct CacheManager")
use, shim = (crate / "docs/cargo_shim.rs").read_text().split("\n", 1)
first_use = text.index("\nuse ") + 1
source.write_text(text[:first_use] + use + "\n" + text[first_use:start] + shim.lstrip())
manifest = cargo / "Cargo.toml"
dependency = f'[dependencies.index-cache]\npath = "{crate}"\n\n[dependencies.git2]'
manifest.write_text(manifest.read_text().replace("[dependencies.git2]", dependency, 1) + "\n[workspace]\n")
PATCH
(cd patched && CARGO_PROFILE_DEV_DEBUG=0 cargo build --bin cargo)
patched=${CARGO_TARGET_DIR:-$top/patched/target}/debug/cargo

cargo new --quiet --lib tried
(cd tried && cargo add --quiet serde -F derive && cargo add --quiet clap@4 tokio@1 reqwest@0.12)
lock() { # NAME CARGO HOME [OPTION]
    rm -f tried/Cargo.lock
    (cd tried && RUSTC=$(rustup which rustc) CARGO_HOME=$top/$3 "$2" generate-lockfile --quiet "${@:4}")
    cp tried/Cargo.lock "$1.lock"
}
lock installed "$(rustup which cargo)" home-installed
lock online "$patched" home-patched
lock offline "$patched" home-patched --offline
cmp installed.lock online.lock && cmp installed.lock offline.lock
echo "equal locks of $(grep -c '^name' installed.lock) packages;" \
    "index files: $(find home-installed/registry/index -type f | wc -l)" \
    "against $(find home-patched/registry/index -type f | wc -l)"

# Killed at eight moments of a first run; then two at once on an empty cache.
for moment in 0.1 0.2 0.3 0.4 0.5 0.6 0.8 1.0; do
    rm -rf home-patched/registry/index
    (cd tried && rm -f Cargo.lock && CARGO_HOME=$top/home-patched \
        timeout -s KILL $moment "$patched" generate-lockfile --quiet || true) 2>/dev/null
    lock killed "$patched" home-patched
    cmp installed.lock killed.lock
done
echo "killed at eight moments: equal locks"
rm -rf home-patched/registry/index other && cp -r tried other && rm -f other/Cargo.lock
(cd other && CARGO_HOME=$top/home-patched "$patched" generate-lockfile --quiet) &
lock beside "$patched" home-patched
wait $!
cmp installed.lock beside.lock && cmp installed.lock other/Cargo.lock && echo "two at once: equal locks"

# A file that is not an index cache is left alone.
cache=$(ls -S home-patched/registry/index/*/.cache/*.ixc | sed -n 1p)
cp "$cache" kept && head -c 9000 /dev/zero | tr '\0' x > "$cache" && cp "$cache" foreign
lock foreign "$patched" home-patched
cmp installed.lock foreign.lock && cmp "$cache" foreign && echo "foreign file: equal lock, untouched"
cp kept "$cache"

# One hexadecimal digit of a checksum, flipped in both caches.
flip() { python3 - "$top" "$@" <<'FLIP'
import pathlib, re, sys
top, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
sum = re.search(r'name = "serde"\nversion = .*\nsource = .*\nchecksum = "(\w+)"', (top / "installed.lock").read_text())[1]
for file in files:
    data = bytearray(file.read_bytes())
    at = data.rindex(sum.encode())
    data[at] = ord("1") if data[at] == ord("0") else ord("0")
    file.write_bytes(data)
FLIP
}
flip home-installed/registry/index/*/.cache/se/rd/serde "$cache"
lock injured "$(rustup which cargo)" home-installed --offline
cmp -s installed.lock injured.lock && echo "installed cargo: right" || echo "installed cargo: wrote the wrong checksum into Cargo.lock"
lock injured "$patched" home-patched --offline 2>/dev/null && echo "patched cargo offline: an answer" || echo "patched cargo offline: a miss"
lock healed "$patched" home-patched
cmp installed.lock healed.lock && echo "patched cargo online: fetched again, equal lock"
