//! The command line that every benchmark program shares.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Fewer rounds and smaller data: a smoke test with intervals, not a result to quote.
    pub quick: bool,
    /// A folder with the user's own inputs (`wheels/`, `cargo-home/`, `workspaces/`).
    pub data: Option<PathBuf>,
    /// Where the report goes.
    pub out: PathBuf,
    /// Seed of orders and data.
    pub seed: u64,
    /// What is left, in order.
    pub rest: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quick: false,
            data: None,
            out: PathBuf::from("target/bench"),
            seed: 1,
            rest: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads `[--quick] [--data DIR] [--out DIR] [--seed N] [REST...]`, without the program's name.
    ///
    /// # Errors
    ///
    /// `is_usage` when an option is unknown or lacks its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use bench_util::Settings;
    ///
    /// let settings = Settings::parse(["--quick", "--out", "here", "a.whl"].map(String::from))?;
    /// assert!(settings.quick && settings.out.ends_with("here") && settings.rest == ["a.whl"]);
    /// assert!(Settings::parse(["--fast".to_owned()]).unwrap_err().is_usage());
    /// # Ok::<(), bench_util::Error>(())
    /// ```
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut settings = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments.next().ok_or_else(|| Error::usage(format!("`{argument}` needs a value")))
            };
            match argument.as_str() {
                "--quick" => settings.quick = true,
                "--data" => settings.data = Some(value()?.into()),
                "--out" => settings.out = value()?.into(),
                "--seed" => settings.seed = number(&value()?)?,
                option if option.starts_with('-') => {
                    return Err(Error::usage(format!("unknown option `{option}`")));
                }
                _ => settings.rest.push(argument),
            }
        }
        Ok(settings)
    }

    /// Reads the arguments of this process.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn from_args() -> Result<Self> {
        Self::parse(std::env::args().skip(1))
    }

    /// Rounds of one comparison at most.
    pub fn rounds_max(&self) -> usize {
        if self.quick { 10 } else { 40 }
    }

    /// Time of one comparison after which no further round starts.
    pub fn budget(&self) -> Duration {
        Duration::from_secs(if self.quick { 8 } else { 120 })
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::usage(format!("`{text}` is not a number")))
}
