//! The flags that declare faults.

use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;

/// What is to go wrong.
#[derive(Debug, Default, Args)]
pub struct FaultArgs {
    /// A plan of faults: which calls fail, and how (JSON or YAML; repeatable)
    #[arg(long, value_name = "FILE", env = "LOOMREC_FAULTS", help_heading = "Faults")]
    pub faults: Vec<PathBuf>,

    /// One fault, of a step or of every call: 'answer=timeout:5000', 'http_error:429' (repeatable)
    #[arg(long, value_name = "[STEP=]FAULT", env = "LOOMREC_FAULT", help_heading = "Faults")]
    pub fault: Vec<String>,

    /// Seed for everything left to chance [default: drawn and printed where faults need one]
    #[arg(long, value_name = "N", env = "LOOMREC_SEED", help_heading = "Faults")]
    pub seed: Option<u64>,

    /// Answer this part of all calls (0 to 1) with a 500 `chaos_drop`
    #[arg(long, value_name = "RATE", env = "LOOMREC_CHAOS_DROP", help_heading = "Faults")]
    pub chaos_drop: Option<f64>,

    /// Answer this part of all calls with a body that does not parse
    #[arg(long, value_name = "RATE", env = "LOOMREC_CHAOS_MALFORMED", help_heading = "Faults")]
    pub chaos_malformed: Option<f64>,

    /// Destroy the connection of this part of all calls
    #[arg(long, value_name = "RATE", env = "LOOMREC_CHAOS_DISCONNECT", help_heading = "Faults")]
    pub chaos_disconnect: Option<f64>,

    /// Answer this part of all calls with a 429
    #[arg(long, value_name = "RATE", env = "LOOMREC_CHAOS_RATE_LIMIT", help_heading = "Faults")]
    pub chaos_rate_limit: Option<f64>,

    /// Answer this part of all calls a second late
    #[arg(long, value_name = "RATE", env = "LOOMREC_CHAOS_LATENCY", help_heading = "Faults")]
    pub chaos_latency: Option<f64>,

    /// Any other fault for a part of all calls: '0.1=stream_truncate:3' (repeatable)
    #[arg(long, value_name = "RATE=FAULT", env = "LOOMREC_CHAOS", help_heading = "Faults")]
    pub chaos: Vec<String>,

    /// Do not fail when a rule of the plan never came to anything
    #[arg(
        long,
        env = "LOOMREC_ALLOW_UNFIRED",
        value_parser = FalseyValueParser::new(),
        help_heading = "Faults"
    )]
    pub allow_unfired: bool,

    /// Fail unless the program recovers from each fault within this budget:
    /// 'max_detection_ms=3000,max_recovery_ms=5000,require_clean_timeout'
    #[arg(long, value_name = "BUDGET", env = "LOOMREC_RECOVERY", help_heading = "Faults")]
    pub recovery: Option<String>,

    /// With --recovery: write a JUnit report, a test case for each fault
    #[arg(long, value_name = "FILE", env = "LOOMREC_JUNIT", help_heading = "Faults")]
    pub junit: Option<PathBuf>,
}
