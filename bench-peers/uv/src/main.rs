//! mini-uv against the real uv, on the wheels of uv's own measurements.
//!
//! astral-sh/uv#21327 measured one local wheel at a time, cold (no cache) and warm (prepared
//! cache), each into a fresh environment; #21340 measured a pinned environment over local HTTP.
//! Both are repeated here, with uv's `content-addressed-cache` off and on in the same rounds.
//!
//! Called as `bench-uv MINI_UV [--quick] [--data DIR] [--out DIR] [ROWS...]`; rows are the names of
//! packages and `environment`. Rows that are named run, also those that `--quick` leaves out.

mod client;
mod floor;
mod http;
mod local;
mod server;
mod tools;
mod wheels;

use std::ffi::OsString;
use std::process::ExitCode;

use bench_util::{CaseError, Error, Report, Settings, conclude};

use floor::Layout;
use http::Remote;
use local::Local;
use tools::Tools;
use wheels::{PACKAGES, Wheels};

fn main() -> ExitCode {
    conclude(start().map_err(|error| -> Box<dyn std::error::Error> { error }))
}

fn start() -> Result<ExitCode, CaseError> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [flag, layout, dir, wheels @ ..] = &arguments[..]
        && flag == "--floor"
    {
        let wheels: Vec<String> =
            wheels.iter().map(|wheel| wheel.to_string_lossy().into_owned()).collect();
        floor::run(Layout::of(&layout.to_string_lossy()), dir.as_ref(), &wheels)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(run(&Settings::from_args()?)?.exit_code())
}

/// The name of the row of fourteen packages.
const ENVIRONMENT_ROW: &str = "environment";

/// Which rows were asked for.
struct Rows<'a>(&'a Settings);

impl Rows<'_> {
    fn is_named(&self, row: &str) -> bool {
        self.0.rest.iter().skip(1).any(|named| named == row)
    }

    fn may_run(&self, row: &str) -> bool {
        self.0.rest.len() < 2 || self.is_named(row)
    }

    /// torch is nine tenths of all bytes.
    fn leave_out_large(&self, row: &str) -> bool {
        self.0.quick && !self.is_named(row)
    }
}

fn run(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::new("uv", "How long does an install take, against the real uv?");
    let tools = Tools::find(settings)?;
    report.note(format!("uv {}, Python {}.", tools.uv_version, tools.python_version));
    let wheels = Wheels::new(settings, &tools);
    let rows = Rows(settings);
    for package in PACKAGES.into_iter().filter(|package| rows.may_run(package.name)) {
        if package.is_large && rows.leave_out_large(package.name) {
            eprintln!("     Leaving out {} (--quick)", package.name);
            report.note(format!("{} is left out by --quick.", package.name));
            continue;
        }
        eprintln!("     Installing {}", package.name);
        match wheels.find(package) {
            Ok(wheel) => Local { tools: &tools, settings, package, wheel }.run(&mut report),
            Err(error) => report.failed(package.name, &error),
        }
    }
    if rows.may_run(ENVIRONMENT_ROW) {
        let without_torch = rows.leave_out_large(ENVIRONMENT_ROW);
        let count = if without_torch { "all but torch of 14" } else { "14" };
        eprintln!("     Installing {count} packages over loopback HTTP");
        match Remote::serve(&tools, &wheels, settings, without_torch) {
            Ok(remote) => remote.run(&mut report),
            Err(error) => report.failed("14 packages over loopback HTTP", &error),
        }
    }
    report.note("Environments and caches are on a journaled ext4 in memory, wheels in the page cache; making the environment is not timed. Cold starts without any cache, so both programs also ask the interpreter about itself.");
    report.write(&settings.out)?;
    Ok(report)
}
