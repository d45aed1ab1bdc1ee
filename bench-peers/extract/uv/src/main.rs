//! `bench-extract-uv MODE ARCHIVE TARGET`: one extraction by uv-extract, as uv does it.

use std::error::Error;
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, archive, target] = &arguments[..] else {
        return Err("usage: bench-extract-uv stream|stream-hash|seek ARCHIVE TARGET".into());
    };
    let (archive, target) = (Path::new(archive), Path::new(target));
    match mode.as_str() {
        "stream" => stream(archive, target, false),
        "stream-hash" => stream(archive, target, true),
        "seek" => seek(archive, target),
        other => Err(format!("unknown mode {other}").into()),
    }
}

/// As uv does while it downloads: a reader, a temporary folder, one rename.
fn stream(archive: &Path, target: &Path, hash: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    runtime.block_on(async {
        let file = tokio::fs::File::open(archive).await?;
        let reader = tokio::io::BufReader::with_capacity(128 * 1024, file);
        let parent = target.parent().ok_or("the target has a parent")?;
        let stage = tempfile::TempDir::new_in(parent)?;
        let stage = if hash {
            uv_extract::stream::unzip_and_hash(reader, stage).await?.0
        } else {
            uv_extract::stream::unzip(reader, stage).await?.0
        };
        std::fs::rename(stage.keep(), target)?;
        Ok(())
    })
}

fn seek(archive: &Path, target: &Path) -> Result<()> {
    std::fs::create_dir(target)?;
    uv_extract::unzip(fs_err::File::open(archive)?, target)?;
    Ok(())
}
