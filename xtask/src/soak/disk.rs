//! A small ext4 with a journal, and a ballast that fills it to the last block now and then.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, shell};

const DISK_BYTES: u64 = 400 << 20;

/// Mounted; unmounted and deleted when dropped.
pub(super) struct SmallDisk {
    folder: PathBuf,
    mount: PathBuf,
}

impl SmallDisk {
    pub(super) fn mount() -> Result<Self> {
        let folder = shell::target_folder().join(format!("soak-{}", std::process::id()));
        fs::create_dir_all(folder.join("mount"))?;
        let folder = fs::canonicalize(folder)?;
        let (image, mount) = (folder.join("image"), folder.join("mount"));
        File::create(&image)?.set_len(DISK_BYTES)?;
        shell::output(
            Command::new("mkfs.ext4").args(["-q", "-m", "0", "-N", "60000"]).arg(&image),
        )?;
        shell::output(Command::new("mount").args(["-o", "loop"]).args([&image, &mount]))?;
        Ok(Self { folder, mount })
    }

    pub(super) fn path(&self) -> &Path {
        &self.mount
    }

    /// Writes until there is no room.
    pub(super) fn fill(&self) -> Result<()> {
        let mut ballast = File::options().create(true).append(true).open(self.ballast())?;
        let block = vec![0x55; 1 << 20];
        let mut length = block.len();
        while length >= 512 {
            match ballast.write(&block[..length]) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => length /= 2,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) fn make_room(&self) -> Result<()> {
        match fs::remove_file(self.ballast()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.mount.join("ballast")
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::print_stderr, reason = "a mount that stays must be known")]
    fn drop(&mut self) {
        let unmounted = shell::output(Command::new("umount").arg(&self.mount));
        let removed = unmounted.and_then(|_| Ok(fs::remove_dir_all(&self.folder)?));
        if let Err(error) = removed {
            eprintln!("{} is left: {error}", self.folder.display());
        }
    }
}
