//! A thin but real installer of Python wheels, composed from the toolkit's crates.
//!
//! It exists to show, on real wheels and real environments, what the crates do for a package
//! manager: archives stream through `stream-extract` into `cas-store`, files are closed through
//! `deferred-close`, what the network or a wheel said is kept in `index-cache`. It speaks uv's
//! language so that people and scripts can drop it in.
//!
//! How an install flows, one file per step:
//!
//! ```text
//! requirements -> resolve (index, find_links) -> plan -> unpack (sink) -> stage -> transaction
//! ```
//!
//! Absent: building source distributions, editable installs, lock files, managing interpreters.

mod advice;
mod ahead;
mod bytecode;
mod cache;
mod catalog;
mod cli;
mod closing;
mod command;
mod dist;
mod download;
mod entry_points;
mod environment;
mod explain;
mod fault;
mod find_links;
mod headers;
mod http;
mod identity;
mod index;
mod index_url;
mod install;
mod installed;
mod interpreter;
mod interrupt;
mod lock;
mod metadata;
mod meter;
mod names;
mod netrc;
mod page;
mod plan;
mod platform;
mod ranges;
mod record;
mod remote;
mod request;
mod requirements_txt;
mod resolve;
mod script;
mod select;
mod separate;
mod sink;
mod sources;
mod stage;
mod tags;
mod transaction;
mod ui;
mod uninstall;
mod unpack;
mod venv;
mod verify;
mod wheel;
mod wheel_metadata;
mod wheel_name;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Color, Global};
use crate::ui::Ui;

fn main() -> ExitCode {
    let cli = Cli::parse();
    set_up_output(&cli.global);
    let ui = Ui::new(cli.global.quiet, !cli.global.no_progress);
    match command::run(cli, ui) {
        Ok(code) => code,
        Err(error) => {
            ui::print_error(&error);
            if let Some(interrupted) = error.downcast_ref::<interrupt::Interrupted>() {
                interrupted.die();
            }
            fault::exit_code(&error)
        }
    }
}

fn set_up_output(global: &Global) {
    match global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let level = match global.verbose {
        0 => return,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .init();
}
