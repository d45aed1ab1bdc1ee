//! Looks into, verifies and compacts an index cache file, and moves cargo's cache in and out.
//!
//! ```text
//! cargo run --release --example ixc -- verify ~/.cache/my-tool/index-v1.ixc
//! ```

#![expect(clippy::print_stderr, reason = "a program for the terminal")]

use index_cache::{
    Compacted, Durability, IndexCache, LayerStats, Options, Progress, SliceInfo, Status,
    cargo_layout,
};
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: ixc COMMAND FILE [ARGUMENT]
  info FILE          what the file is, sizes and counters
  keys FILE          one line for each entry
  get FILE KEY       an entry's token, slices and body
  verify FILE        read everything, compare every checksum
  compact FILE       rewrite without what is no longer reachable
  import FILE DIR    store cargo's .cache folder
  export FILE DIR    write cargo's .cache folder
status: 0 sound, 1 damaged or not there, 2 could not be done";

type Outcome<T = bool> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::from(2)
        }
    }
}

/// Whoever read our output, `head` for one, has seen enough.
fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Does what the arguments say; gives false when something is damaged or not there.
pub(crate) fn run(arguments: &[&str], out: &mut dyn Write) -> Outcome {
    match *arguments {
        ["info", file] => info(&open(file)?, out),
        ["keys", file] => keys(&ready(file)?, out),
        ["get", file, key] => get(&ready(file)?, key, out),
        ["verify", file] => verify(&ready(file)?, out),
        ["compact", file] => compact(&ready(file)?, out),
        ["import", file, folder] => import(&open(file)?, Path::new(folder), out),
        ["export", file, folder] => export(&ready(file)?, Path::new(folder), out),
        _ => Err(USAGE.into()),
    }
}

/// Opens under whatever schema the file has: this tool looks at bytes, not at their meaning.
fn open(file: &str) -> Outcome<IndexCache> {
    let cache = IndexCache::open(file, Options::new())?;
    if cache.status() != Status::OtherSchema {
        return Ok(cache);
    }
    let schema = index_cache::schema_of(Path::new(file))?;
    Ok(IndexCache::open(file, Options::new().schema(schema.unwrap_or_default()))?)
}

/// Opens a file that has something to look at. The library counts all others as empty, but to call
/// them sound would be a lie.
fn ready(file: &str) -> Outcome<IndexCache> {
    let cache = open(file)?;
    match cache.status() {
        Status::Ready => Ok(cache),
        status => Err(format!("`{file}` {}", described(status)).into()),
    }
}

fn described(status: Status) -> &'static str {
    match status {
        Status::Ready => "is an index cache",
        Status::Absent => "does not exist",
        Status::Foreign => "is not an index cache; it is never written",
        Status::NewerFormat => "was written by a later version; it is never written by this one",
        Status::Damaged => "is cut short or damaged in both headers; the next commit replaces it",
        _ => "is of another kind",
    }
}

fn info(cache: &IndexCache, out: &mut dyn Write) -> Outcome {
    for layer in &cache.stats().layers {
        write_layer(layer, out)?;
    }
    Ok(cache.status() == Status::Ready)
}

fn write_layer(layer: &LayerStats, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "`{}` {}", layer.path.display(), described(layer.status))?;
    if layer.status != Status::Ready {
        return Ok(());
    }
    writeln!(out, "  entries     {:>14}", layer.entries)?;
    writeln!(out, "  bytes       {:>14}", layer.file_bytes)?;
    writeln!(out, "  live bytes  {:>14}", layer.live_bytes)?;
    writeln!(out, "  leaf pages  {:>14}", layer.leaves)?;
    writeln!(out, "  commits     {:>14}", layer.commits)?;
    writeln!(out, "  last commit {:>14}", if layer.is_durable { "durable" } else { "fast" })?;
    if layer.wants_compaction() {
        writeln!(out, "  more than half of the file is no longer reachable: compact it")?;
    }
    Ok(())
}

fn keys(cache: &IndexCache, out: &mut dyn Write) -> Outcome {
    let mut is_sound = true;
    for entry in cache.snapshot().entries() {
        match entry {
            Ok(entry) if entry.is_negative() => {
                writeln!(out, "{:<32} not in the registry", entry.key())?;
            }
            Ok(entry) => {
                let (slices, bytes) = (entry.slice_count(), entry.body_len());
                writeln!(out, "{:<32} {slices:>6} slices {bytes:>10} bytes", entry.key())?;
            }
            Err(error) if error.is_corrupt() => {
                is_sound = false;
                writeln!(out, "{error}")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(is_sound)
}

fn get(cache: &IndexCache, key: &str, out: &mut dyn Write) -> Outcome {
    let Some(entry) = cache.get(key)? else {
        writeln!(out, "no entry")?;
        return Ok(false);
    };
    writeln!(out, "token {}", entry.token().escape_ascii())?;
    let slices = intact(entry.slices(), out)?;
    let mut is_sound = slices.is_some();
    for slice in slices.into_iter().flatten() {
        let SliceInfo { name, flags, len, .. } = slice;
        writeln!(out, "slice {name:<20} flags {flags:#06x} {len:>9} bytes")?;
        is_sound &= intact(entry.slice(name), out)?.is_some();
    }
    let body = intact(entry.body(), out)?;
    if let Some(body) = body {
        writeln!(out, "body  {} bytes, sound", body.len())?;
    }
    Ok(is_sound && body.is_some())
}

/// What was read; none where it is damaged, which is printed.
fn intact<T>(read: index_cache::Result<T>, out: &mut dyn Write) -> Outcome<Option<T>> {
    match read {
        Ok(part) => Ok(Some(part)),
        Err(error) if error.is_corrupt() => {
            writeln!(out, "{error}")?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn verify(cache: &IndexCache, out: &mut dyn Write) -> Outcome {
    let verified = cache.verify_with(&mut progress("verified"))?;
    writeln!(out, "{} entries, {} bytes are sound", verified.entries, verified.bytes)?;
    for fault in &verified.faults {
        writeln!(out, "{fault}")?;
    }
    if !verified.is_sound() {
        writeln!(
            out,
            "damaged entries read as missing; `compact` writes the file without the damage"
        )?;
    }
    Ok(verified.is_sound())
}

fn compact(cache: &IndexCache, out: &mut dyn Write) -> Outcome {
    match cache.compact_with(&mut progress("copied"))? {
        Compacted::Done(done) => {
            let (before, after) = (done.bytes_before, done.bytes_after);
            writeln!(out, "{} entries, {before} -> {after} bytes", done.entries)?;
            writeln!(out, "{} damaged entries dropped", done.damaged)?;
            Ok(true)
        }
        Compacted::Skipped(reason) => Err(reason.to_string().into()),
        _ => Ok(false),
    }
}

fn import(cache: &IndexCache, folder: &Path, out: &mut dyn Write) -> Outcome {
    let mut progress = progress("imported");
    let imported = cargo_layout::import(cache, folder, Durability::Durable, &mut progress)?;
    if let Some(reason) = imported.skipped {
        return Err(reason.to_string().into());
    }
    writeln!(out, "{} entries, {} bytes", imported.entries, imported.bytes)?;
    for path in &imported.refused {
        writeln!(out, "refused {}: not a whole file of cargo's cache format", path.display())?;
    }
    Ok(imported.refused.is_empty())
}

fn export(cache: &IndexCache, folder: &Path, out: &mut dyn Write) -> Outcome {
    let exported = cargo_layout::export(&cache.snapshot(), folder)?;
    writeln!(out, "{} files, {} bytes", exported.files, exported.bytes)?;
    for key in &exported.left_out {
        writeln!(out, "left out {key}")?;
    }
    Ok(true)
}

/// Says every ten thousand entries how far it is.
fn progress(verb: &'static str) -> impl FnMut(Progress) -> ControlFlow<()> {
    move |progress| {
        if progress.done > 0 && progress.done.is_multiple_of(10_000) {
            eprintln!("{verb} {} of {}", progress.done, progress.total);
        }
        ControlFlow::Continue(())
    }
}
