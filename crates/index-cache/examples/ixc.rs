//! Looks into, verifies and compacts an index cache file, and moves cargo's cache in and out.
//!
//! ```text
//! cargo run --release --example ixc -- verify ~/.cache/my-tool/index-v1.ixc
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use index_cache::{
    Compacted, Durability, IndexCache, LayerStats, Options, Progress, Status, cargo_layout,
};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: ixc COMMAND FILE [ARGUMENT]
  info FILE          sizes and counters
  keys FILE          one line for each entry
  get FILE KEY       an entry's token, slices and body
  verify FILE        read everything, compare every checksum
  compact FILE       rewrite without what is no longer reachable
  import FILE DIR    store cargo's .cache folder
  export FILE DIR    write cargo's .cache folder";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
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

fn run(arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    match *arguments {
        ["info", file] => {
            info(&open(file)?);
            Ok(true)
        }
        ["keys", file] => keys(&open(file)?),
        ["get", file, key] => get(&open(file)?, key),
        ["verify", file] => verify(&open(file)?),
        ["compact", file] => compact(&open(file)?),
        ["import", file, folder] => import(&open(file)?, Path::new(folder)),
        ["export", file, folder] => export(&open(file)?, Path::new(folder)),
        _ => Err(USAGE.into()),
    }
}

/// Opens under whatever schema the file has: this tool looks at bytes, not at their meaning.
fn open(file: &str) -> Result<IndexCache, Box<dyn Error>> {
    let cache = IndexCache::open(file, Options::new())?;
    if cache.status() != Status::OtherSchema {
        return Ok(cache);
    }
    let schema = index_cache::schema_of(Path::new(file))?;
    Ok(IndexCache::open(file, Options::new().schema(schema.unwrap_or_default()))?)
}

fn info(cache: &IndexCache) {
    let stats = cache.stats();
    for layer in &stats.layers {
        print_layer(layer);
    }
}

fn print_layer(layer: &LayerStats) {
    println!("{}: {:?}", layer.path.display(), layer.status);
    println!("  entries     {:>14}", layer.entries);
    println!("  bytes       {:>14}", layer.file_bytes);
    println!("  live bytes  {:>14}", layer.live_bytes);
    println!("  leaf pages  {:>14}", layer.leaves);
    println!("  commits     {:>14}", layer.commits);
    println!("  last commit {:>14}", if layer.is_durable { "durable" } else { "fast" });
    if layer.wants_compaction() {
        println!("  more than half of the file is no longer reachable: compact it");
    }
}

fn keys(cache: &IndexCache) -> Result<bool, Box<dyn Error>> {
    let mut is_sound = true;
    for entry in cache.snapshot().entries() {
        match entry {
            Ok(entry) if entry.is_negative() => println!("{:<32} not in the registry", entry.key()),
            Ok(entry) => {
                let (slices, bytes) = (entry.slice_count(), entry.body_len());
                println!("{:<32} {slices:>6} slices {bytes:>10} bytes", entry.key());
            }
            Err(error) if error.is_corrupt() => {
                is_sound = false;
                println!("{error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(is_sound)
}

fn get(cache: &IndexCache, key: &str) -> Result<bool, Box<dyn Error>> {
    let Some(entry) = cache.get(key)? else {
        println!("no entry");
        return Ok(false);
    };
    println!("token {}", entry.token().escape_ascii());
    for slice in entry.slices()? {
        println!("slice {:<20} flags {:#06x} {:>9} bytes", slice.name, slice.flags, slice.len);
    }
    println!("body  {} bytes, sound", entry.body()?.len());
    Ok(true)
}

fn verify(cache: &IndexCache) -> Result<bool, Box<dyn Error>> {
    let verified = cache.verify_with(&mut progress("verified"))?;
    println!("{} entries, {} bytes are sound", verified.entries, verified.bytes);
    for fault in &verified.faults {
        println!("{fault}");
    }
    if !verified.is_sound() {
        println!("damaged entries read as missing; `compact` drops them");
    }
    Ok(verified.is_sound())
}

fn compact(cache: &IndexCache) -> Result<bool, Box<dyn Error>> {
    match cache.compact_with(&mut progress("copied"))? {
        Compacted::Done(done) => {
            println!(
                "{} entries, {} -> {} bytes",
                done.entries, done.bytes_before, done.bytes_after
            );
            println!("{} damaged entries dropped", done.damaged);
            Ok(true)
        }
        Compacted::Skipped(reason) => Err(reason.to_string().into()),
        _ => Ok(false),
    }
}

fn import(cache: &IndexCache, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let mut progress = progress("imported");
    let imported = cargo_layout::import(cache, folder, Durability::Durable, &mut progress)?;
    if let Some(reason) = imported.skipped {
        return Err(reason.to_string().into());
    }
    println!("{} entries, {} bytes", imported.entries, imported.bytes);
    for path in &imported.refused {
        println!("refused {}: not a whole file of cargo's cache format", path.display());
    }
    Ok(imported.refused.is_empty())
}

fn export(cache: &IndexCache, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let exported = cargo_layout::export(&cache.snapshot(), folder)?;
    println!("{} files, {} bytes", exported.files, exported.bytes);
    for key in &exported.left_out {
        println!("left out {key}");
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
