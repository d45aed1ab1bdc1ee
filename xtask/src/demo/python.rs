//! Finding an interpreter that can take part: CPython from 3.9 with pip.
//!
//! A name on the path is not proof: version managers leave stubs that refuse to start, so each
//! candidate is asked.

use std::ffi::OsString;
use std::process::Command;

use crate::{Result, shell};

const QUESTION: &str = "import sys, pip; \
    assert sys.version_info >= (3, 9) and sys.implementation.name == 'cpython'; \
    print('.'.join(map(str, sys.version_info[:3])))";

/// An interpreter that answered.
pub(super) struct Python {
    program: OsString,
    /// `3.12.1`
    pub(super) version: String,
}

impl Python {
    /// The interpreter without the caller's `PYTHON*` settings.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command
    }

    pub(super) fn program(&self) -> &OsString {
        &self.program
    }
}

/// `$PYTHON`, then 3.12 (which the benchmarks use), then whatever is there.
pub(super) fn find() -> Result<Python> {
    let wished = std::env::var_os("PYTHON");
    let names = ["python3.12", "python3.13", "python3.11", "python3", "python3.10", "python3.9"];
    let mut candidates = wished.into_iter().chain(names.map(OsString::from));
    candidates.find_map(ask).ok_or_else(|| {
        "no CPython 3.9 or newer with pip was found\n  \
         hint: install it (Debian: `apt-get install python3 python3-pip`) or set PYTHON"
            .into()
    })
}

fn ask(program: OsString) -> Option<Python> {
    let answer = shell::output(Command::new(&program).args(["-c", QUESTION])).ok()?;
    Some(Python { program, version: answer.trim().to_owned() })
}
