//! The latency of answers: its flags, their bounds, and the model that they choose.

use crate::args::{LatencyModel, ReplayArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_engine::replay::{GaussSequence, Latency};

/// The longest wait that may be configured.
const LONGEST_WAIT_MS: f64 = 86_400_000.0;

/// The slowest speed at which recorded times can be replayed: a second takes about seventeen
/// minutes.
const SLOWEST: f64 = 0.001;

/// Refuses a latency that is out of bounds.
pub(super) fn check_latency(args: &ReplayArgs) -> Result<(), CommandFailure> {
    if let Some(text) = &args.latency.detail
        && (args.latency.word == LatencyModel::None || parse_milliseconds(text).is_none())
    {
        let usage = format!(
            "--latency: {text:?}: all models but none take milliseconds behind a colon, from 0 to \
             {LONGEST_WAIT_MS} (a day)"
        );
        return Err(CommandFailure::usage(usage));
    }
    if !args.speed.is_finite() || args.speed < SLOWEST {
        let speed = args.speed;
        return Err(CommandFailure::usage(format!(
            "--speed {speed}: it takes a factor from {SLOWEST}"
        )));
    }
    Ok(())
}

/// Reads milliseconds that may be waited for.
fn parse_milliseconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|ms| (0.0..=LONGEST_WAIT_MS).contains(ms))
}

/// Whether the latency of answers is drawn at random.
pub fn draws_waits(args: &ReplayArgs) -> bool {
    matches!(args.latency.word, LatencyModel::Normal | LatencyModel::Sequence)
}

/// Returns the latency model.
pub fn latency_model(args: &ReplayArgs, seed: u64) -> Latency {
    let ms = args.latency.detail.as_deref().and_then(parse_milliseconds).unwrap_or(0.0);
    match args.latency.word {
        LatencyModel::None => Latency::None,
        LatencyModel::Constant => Latency::Constant { ms },
        LatencyModel::Normal => Latency::Normal { ms, seed },
        LatencyModel::Sequence => Latency::Sequence { ms, numbers: GaussSequence::new(seed) },
        LatencyModel::Replay => Latency::Replay { speed: args.speed, fallback_ms: ms },
    }
}
