//! The flags that declare faults.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::duration::duration;
use super::{SettingScope, StrictEffect};

/// The faults of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct FaultArgs {
    /// A fault plan: which calls fail, and how
    ///
    /// The file is JSON or YAML. Repeatable.
    #[arg(
        long,
        value_name = "FILE",
        env = "LOOMREC_FAULTS",
        help_heading = "Faults",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::InputFile)]
    pub faults: Vec<PathBuf>,

    /// One fault: 429:once, STEP=timeout:5000
    ///
    /// Without a step, it applies to every call, or with `once` to the first. Repeatable.
    #[arg(
        long,
        value_name = "[STEP=]FAULT",
        env = "LOOMREC_FAULT",
        help_heading = "Faults",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub fault: Vec<String>,

    /// Seed for random decisions
    ///
    /// [default: chosen at random and printed, if faults need one]
    #[arg(
        long,
        value_name = "N",
        env = "LOOMREC_SEED",
        help_heading = "Faults",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub seed: Option<u64>,

    /// Faults for some calls: 0.1=http_error:500
    ///
    /// RATE is a fraction of the calls, 0 to 1, or a percentage. Repeatable.
    #[arg(
        long,
        value_name = "RATE=FAULT",
        env = "LOOMREC_CHAOS",
        help_heading = "Faults",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub chaos: Vec<String>,

    /// Count the delays of faults instead of waiting, with TIME as the time limit of tools' clients
    ///
    /// A tool call that hangs for TIME gets its client's error at once: -32001, 'Request timed out'.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = duration,
        env = "LOOMREC_VIRTUAL_TIME",
        help_heading = "Faults",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub virtual_time: Option<Duration>,

    /// Do not fail if a declared fault never happened, or no fault tested the budget
    #[arg(
        long,
        env = "LOOMREC_ALLOW_UNFIRED",
        value_parser = FalseyValueParser::new(),
        help_heading = "Faults",
        add = StrictEffect::WEAKENS
    )]
    #[arg(add = SettingScope::Run)]
    pub allow_unfired: bool,

    /// Fail unless the program recovers in time
    ///
    /// A budget: 'max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout'
    #[arg(
        long,
        value_name = "BUDGET",
        env = "LOOMREC_RECOVERY",
        help_heading = "Faults",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::Run)]
    pub recovery: Option<String>,

    /// With --recovery: write a JUnit report with one test case per fault
    #[arg(
        long,
        value_name = "FILE",
        env = "LOOMREC_JUNIT",
        help_heading = "Faults",
        add = StrictEffect::Harmless
    )]
    #[arg(add = SettingScope::OUTPUT_FILE)]
    pub junit: Option<PathBuf>,
}
