//! A shell that waits for the end of our life, then unmounts and deletes.
//!
//! It runs in its own process group, so the Ctrl-C that ends us does not reach it, and it needs no
//! signal handler in our process: closing a pipe is what the kernel does in every kind of death.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};

/// `read` returns at the end of the pipe. Whatever is mounted inside, by us or by a case (a FUSE file
/// system whose server just died), goes first, the innermost before the others. A child that is still
/// dying may write for a moment, so all of it is tried again.
const SCRIPT: &str = r#"
while read -r _; do :; done
points() {
    echo "$1/mount"
    while read -r _ _ _ _ point _; do case "$point" in "$1"/*) echo "$point";; esac; done < /proc/self/mountinfo
}
for _ in 1 2 3 4 5; do
    points "$1" | sort -ru | while read -r point; do
        umount "$point" 2>/dev/null || umount -l "$point" 2>/dev/null
    done
    rm -rf --one-file-system -- "$1" 2>/dev/null && break
    sleep 1
done
[ ! -e "$1" ]
"#;

#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
}

impl Guard {
    pub(super) fn start(root: &Path) -> Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "bench-util-guard"])
            .arg(root)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    let what = "`sh`, which removes the work folder in the end";
                    Error::unavailable(what, "put it on the PATH")
                }
                _ => Error::io("guard", root, error),
            })?;
        Ok(Self { shell })
    }
}

impl Drop for Guard {
    /// Waits, so that the folder is gone when its owner is.
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Nothing can be done about a failure here, and a benchmark's result does not depend on it.
        drop(self.shell.wait());
    }
}
