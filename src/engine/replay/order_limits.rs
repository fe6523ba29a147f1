//! How long answers wait so that they end in the recorded order.

use std::time::Duration;

/// How long an answer waits for others, in all.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How long answers wait for each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderLimits {
    /// How long one answer waits for others, in all.
    pub(super) longest_wait: Duration,
    /// The least time between two ends, if they were that far from each other in the recorded run. A
    /// program that reads in several threads then sees the first end first.
    pub(super) between_ends: Duration,
    /// How much longer than in the recorded run a call may take to come. A replay answers in less time
    /// than a program takes to send its other calls.
    pub(super) late: Duration,
    /// How long all answers of a run wait for calls that do not come. After that, none waits for a
    /// call that has not come.
    pub(super) most_in_vain: Duration,
}

impl Default for OrderLimits {
    fn default() -> Self {
        Self {
            longest_wait: LONGEST_WAIT,
            between_ends: Duration::from_millis(2),
            late: Duration::from_millis(200),
            most_in_vain: Duration::from_secs(2),
        }
    }
}

impl OrderLimits {
    /// Returns the limits of a run in which agents that loomrec knows are replayed, or none. An agent
    /// with sub-agents works for a while on each answer before it notes that it has ended.
    pub(super) fn with_agents(has_agents: bool) -> Self {
        let limits = Self::default();
        let between_ends =
            if has_agents { Duration::from_millis(100) } else { limits.between_ends };
        Self { between_ends, ..limits }
    }

    /// Returns how long an answer waits for a call to come that took so long in the recorded run.
    pub(super) fn grace_period(&self, recorded_lag: Duration) -> Duration {
        (2 * recorded_lag.min(self.longest_wait) + self.late).min(self.longest_wait)
    }
}
