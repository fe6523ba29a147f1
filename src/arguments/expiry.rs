//! The flags about the age of recordings.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration::duration;
use super::{SettingScope, StrictEffect};

/// When a recording is too old.
#[derive(Clone, Debug, Args)]
pub struct ExpiryArgs {
    /// Report takes that were recorded longer ago than this: 12h, 30d, 8w
    #[arg(
        long,
        value_name = "TIME",
        env = "LOOMREC_MAX_AGE",
        value_parser = duration,
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub max_age: Option<Duration>,

    /// What to do about takes older than --max-age
    #[arg(
        long,
        value_enum,
        default_value_t = OnExpired::Warn,
        env = "LOOMREC_ON_EXPIRED",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub on_expired: OnExpired,
}

/// What to do about takes older than `--max-age`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnExpired {
    /// Report them in the receipt
    Warn,
    /// Fail the run
    Fail,
}
