//! Statistics of a group of calls: counts, sums and times.

use serde_json::{Value, json};

use loomrec_cli::amount::format_milliseconds;
use loomrec_cli::pricing::{known_sum, sum_words};
use loomrec_provider::TokenUsage;

/// The percentiles that are shown.
pub(super) const PERCENTILES: [u8; 3] = [50, 90, 99];

/// Shown if there is no value.
const NOTHING: &str = "-";

/// The measured values of one call.
#[derive(Debug, Default)]
pub(super) struct CallSample {
    /// Whether the answer was an error, or was cut.
    pub(super) failed: bool,
    /// Whether the answer was a stream.
    pub(super) streamed: bool,
    /// The token usage.
    pub(super) usage: TokenUsage,
    /// The cost. `None` if the call used tokens and has no price.
    pub(super) cost: Option<f64>,
    /// Milliseconds to the end of the answer.
    pub(super) latency: Option<f64>,
    /// Milliseconds to the first chunk of a stream.
    pub(super) first_chunk: Option<f64>,
}

/// The statistics of a group of calls.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupStats {
    pub(super) calls: u64,
    pub(super) failed: u64,
    streamed: u64,
    usage: TokenUsage,
    cost: f64,
    unpriced: u64,
    latency: TimeList,
    first_chunk: TimeList,
}

impl GroupStats {
    /// Adds a call. The time of a failed call says nothing about the others, so it is not counted.
    pub(super) fn add(&mut self, sample: &CallSample) {
        self.calls += 1;
        self.failed += u64::from(sample.failed);
        self.streamed += u64::from(sample.streamed);
        for (sum, more) in [
            (&mut self.usage.prompt_tokens, sample.usage.prompt_tokens),
            (&mut self.usage.completion_tokens, sample.usage.completion_tokens),
            (&mut self.usage.total_tokens, sample.usage.total_tokens),
            (&mut self.usage.reasoning_tokens, sample.usage.reasoning_tokens),
            (&mut self.usage.cached_tokens, sample.usage.cached_tokens),
            (&mut self.usage.cache_write_tokens, sample.usage.cache_write_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
        match sample.cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
        if !sample.failed {
            self.latency.0.extend(sample.latency);
            self.first_chunk.0.extend(sample.first_chunk);
        }
    }

    /// Returns the cells after the group's name.
    pub(super) fn table_cells(&self) -> Vec<String> {
        let some = |count: u64| if count == 0 { NOTHING.to_owned() } else { count.to_string() };
        let mut cells = vec![
            self.calls.to_string(),
            some(self.failed),
            self.usage.prompt_tokens.to_string(),
            self.usage.completion_tokens.to_string(),
            some(self.usage.cached_tokens),
            some(self.usage.reasoning_tokens),
            sum_words(self.cost, self.unpriced),
        ];
        for times in [&self.latency, &self.first_chunk] {
            let cell = |at: Option<f64>| at.map_or_else(|| NOTHING.to_owned(), format_milliseconds);
            cells.extend(times.percentiles().map(cell));
        }
        cells
    }

    /// Formats the sums in one line.
    pub(super) fn summary_line(&self) -> String {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let TokenUsage { prompt_tokens, completion_tokens, .. } = self.usage;
        format!(
            "{} {calls}{failed} · {prompt_tokens} tokens in, {completion_tokens} out · {}",
            self.calls,
            sum_words(self.cost, self.unpriced)
        )
    }

    /// Returns the statistics for programs. All members are always present.
    pub(super) fn to_json(&self) -> Value {
        let usage = self.usage;
        json!({
            "calls": self.calls,
            "failed": self.failed,
            "streamed": self.streamed,
            "tokens": {
                "prompt": usage.prompt_tokens,
                "completion": usage.completion_tokens,
                "total": usage.total_tokens,
                "reasoning": usage.reasoning_tokens,
                "cached": usage.cached_tokens,
                "cache_write": usage.cache_write_tokens,
            },
            // The sum of the known costs. Null if none is known.
            "cost_usd": known_sum(self.cost, self.unpriced),
            "unpriced": self.unpriced,
            "latency_ms": self.latency.to_json(),
            "first_chunk_ms": self.first_chunk.to_json(),
        })
    }
}

/// Times in milliseconds, in any order.
#[derive(Clone, Debug, Default)]
struct TimeList(Vec<f64>);

impl TimeList {
    /// Returns the percentiles by nearest rank: each is one of the times. `None` if there are no
    /// times.
    fn percentiles(&self) -> [Option<f64>; 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        PERCENTILES.map(|percent| {
            let rank = (sorted.len() * usize::from(percent)).div_ceil(100);
            sorted.get(rank.checked_sub(1)?).copied()
        })
    }

    fn to_json(&self) -> Value {
        let [p50, p90, p99] = self.percentiles();
        json!({ "count": self.0.len(), "p50": p50, "p90": p90, "p99": p99 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_ranks_whatever_the_order() {
        let of = |times: &[f64]| TimeList(times.to_vec()).percentiles();
        assert_eq!(of(&[]), [None; 3]);
        assert_eq!(of(&[7.0]), [Some(7.0); 3]);
        assert_eq!(of(&[3.0, 1.0]), [Some(1.0), Some(3.0), Some(3.0)]);
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(of(&hundred), [Some(50.0), Some(90.0), Some(99.0)]);
        let more: Vec<f64> = (1..=101).map(f64::from).collect();
        assert_eq!(of(&more), [Some(51.0), Some(91.0), Some(100.0)]);
    }

    #[test]
    fn sums_do_not_run_over() {
        let usage = TokenUsage { prompt_tokens: u64::MAX, ..TokenUsage::default() };
        let mut measure = GroupStats::default();
        for _ in 0..2 {
            measure.add(&CallSample { usage, ..CallSample::default() });
        }
        assert_eq!(measure.to_json()["tokens"]["prompt"], u64::MAX);
    }
}
