//! The flag for the age of recordings.

use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::{SettingScope, StrictEffect};

/// When a recording is too old.
#[derive(Clone, Debug, Args)]
pub struct ExpiryArgs {
    /// Report takes that were recorded longer ago than this: 12h, 30d, 8w. With 30d:fail they fail
    /// the run
    #[arg(
        long,
        value_name = "TIME[:fail]",
        env = "LOOMREC_MAX_AGE",
        value_parser = AgeLimit::parse,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub max_age: Option<AgeLimit>,
}

impl ExpiryArgs {
    /// Whether takes that are too old fail the run.
    #[must_use]
    pub fn fails_run(&self) -> bool {
        self.max_age.is_some_and(|limit| limit.fails)
    }
}

/// The age above which a take is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeLimit {
    /// The age.
    pub age: Duration,
    /// Whether an older take fails the run.
    pub fails: bool,
}

impl AgeLimit {
    /// Reads a time, with `:fail` after it or without.
    fn parse(text: &str) -> Result<Self, String> {
        let (time, fails) = match text.split_once(':') {
            None => (text, false),
            Some((time, "fail")) => (time, true),
            Some((time, other)) => {
                return Err(format!("after {time} it takes :fail or nothing, not :{other}"));
            }
        };
        Ok(Self { age: duration(time)?, fails })
    }
}
