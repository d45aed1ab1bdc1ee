//! The program: parse, run, report.

use std::process::ExitCode;

fn main() -> ExitCode {
    mini_cargo::main()
}
