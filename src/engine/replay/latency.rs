//! Latency models: how long an answer, and each of its chunks, waits.
//!
//! `replay` adds the recorded time of each chunk.
//! The same seed gives the same waits to the same calls, whatever else happens: the draw depends on
//! seed, key, take, and how often the take was served before. Only `Sequence` draws in the order of
//! the calls.

use std::fmt::Display;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use sha2::{Digest, Sha256};

use super::gauss_sequence::GaussSequence;
use loomrec_recording::body::is_plausible_time;
use loomrec_recording::response_header::divided_waits;

/// The key that the waits of scripted answers are drawn with.
const SCRIPT: &str = "script";

/// A latency model.
#[derive(Debug)]
pub enum Latency {
    /// Answers are sent at once.
    None,
    /// Every answer waits this many milliseconds.
    Constant {
        /// The wait.
        ms: f64,
    },
    /// `max(0, gauss(ms, max(0.1·ms, 1)))` milliseconds before each answer.
    Normal {
        /// The mean.
        ms: f64,
        /// The seed.
        seed: u64,
    },
    /// The same, with the numbers of [`GaussSequence`]: each answer in turn waits as the next number of
    /// the sequence says, so the order of the calls matters.
    Sequence {
        /// The mean.
        ms: f64,
        /// The numbers.
        numbers: GaussSequence,
    },
    /// Every chunk at its recorded time, divided by `speed`; waits that an answer asks for, too.
    Replay {
        /// 2.0 is twice as fast.
        speed: f64,
        /// The latency of entries without a recorded one.
        fallback_ms: f64,
    },
}

/// Which call a random wait is drawn for.
#[derive(Clone, Copy)]
pub struct LatencyDraw<'a> {
    /// The key of the take.
    pub key: &'a dyn Display,
    /// The number of the take under its key.
    pub take: usize,
    /// Which call of the take it is, from 1.
    pub nth: u32,
}

/// When the parts of one answer are due, counted from the request's arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliverySchedule {
    /// One time for each chunk. The head is sent with the first.
    pub chunks: Vec<Duration>,
    /// The end of the body.
    pub end: Duration,
}

impl Latency {
    /// Divides the waits before another attempt that the headers of a recorded answer ask for.
    pub(super) fn shorten_waits(&self, headers: &mut HeaderMap) {
        let Self::Replay { speed, .. } = self else { return };
        if *speed == 1.0 {
            return;
        }
        for (name, wait) in divided_waits(headers, *speed) {
            if let Ok(wait) = HeaderValue::from_str(&wait) {
                headers.insert(name, wait);
            }
        }
    }

    /// Returns the schedule of an answer whose chunks came at `times` (milliseconds since the
    /// request), or `None` if everything is sent at once.
    pub fn schedule(
        &self,
        times: impl ExactSizeIterator<Item = f64>,
        latency_ms: Option<f64>,
        drawn: &LatencyDraw<'_>,
    ) -> Option<DeliverySchedule> {
        let all_at = |ms: f64| {
            let at = clamped_wait(ms);
            Some(DeliverySchedule { chunks: vec![at; times.len()], end: at })
        };
        match self {
            Self::None => None,
            Self::Constant { ms } => all_at(*ms),
            Self::Normal { ms, seed } => all_at(drawn.random_wait(*ms, *seed)),
            Self::Sequence { ms, numbers } => {
                all_at(numbers.draw(*ms, standard_deviation(*ms)).max(0.0))
            }
            &Self::Replay { speed, fallback_ms } => {
                let total = latency_ms.map_or(fallback_ms, plausible_time);
                Some(paced_schedule(times.map(plausible_time), total, speed))
            }
        }
    }

    /// Returns the schedule of an answer of `count` chunks that have no times. If chunks are sent
    /// at recorded times, these are spread evenly over `latency_ms`.
    pub fn spread_evenly(
        &self,
        count: usize,
        latency_ms: Option<f64>,
        drawn: &LatencyDraw<'_>,
    ) -> Option<DeliverySchedule> {
        let total = match *self {
            Self::Replay { fallback_ms, .. } => latency_ms.map_or(fallback_ms, plausible_time),
            _ => 0.0,
        };
        let at = |chunk: usize| total * (chunk + 1) as f64 / count as f64;
        self.schedule((0..count).map(at), Some(total), drawn)
    }

    /// Returns the schedule of a scripted answer. Its chunks are due at `times` under any model:
    /// `constant`, `normal` and `sequence` delay all of it, `replay` divides the times by the speed.
    pub fn scripted_schedule(
        &self,
        times: impl ExactSizeIterator<Item = f64> + Clone,
        call: usize,
    ) -> Option<DeliverySchedule> {
        if let Self::Replay { speed, .. } = *self {
            return Some(paced_schedule(times, 0.0, speed));
        }
        let drawn = LatencyDraw { key: &SCRIPT, take: call, nth: 1 };
        let before = self.schedule([0.0].into_iter(), None, &drawn);
        if before.is_none() && times.clone().all(|at_ms| at_ms <= 0.0) {
            return None;
        }
        let before = before.map_or(Duration::ZERO, |schedule| schedule.end);
        let mut schedule = paced_schedule(times, 0.0, 1.0);
        schedule.chunks.iter_mut().for_each(|due| *due += before);
        schedule.end += before;
        Some(schedule)
    }
}

/// Returns chunks at these times and an end, in milliseconds, all divided by `speed`. No chunk is
/// due before the one in front of it.
fn paced_schedule(times: impl Iterator<Item = f64>, end_ms: f64, speed: f64) -> DeliverySchedule {
    let mut last = Duration::ZERO;
    let due = |at_ms: f64| {
        last = last.max(clamped_wait(at_ms / speed));
        last
    };
    let chunks = times.map(due).collect();
    DeliverySchedule { chunks, end: last.max(clamped_wait(end_ms / speed)) }
}

/// Returns a recorded time, or 0 if it cannot be one. Such a chunk is sent with the one before.
fn plausible_time(ms: f64) -> f64 {
    if is_plausible_time(ms) { ms } else { 0.0 }
}

/// The standard deviation of random waits around `ms`.
fn standard_deviation(ms: f64) -> f64 {
    (0.1 * ms).max(1.0)
}

/// Returns a wait in milliseconds. Nonsense (negative, not a number, over a day) is cut.
fn clamped_wait(ms: f64) -> Duration {
    let day = 86_400_000.0;
    Duration::from_secs_f64(if ms.is_finite() { ms.clamp(0.0, day) / 1000.0 } else { 0.0 })
}

impl LatencyDraw<'_> {
    /// Returns the wait of [`Latency::Normal`].
    fn random_wait(&self, ms: f64, seed: u64) -> f64 {
        let mut hash = Sha256::new();
        hash.update(b"loomrec latency\0");
        hash.update(seed.to_le_bytes());
        hash.update((self.take as u64).to_le_bytes());
        hash.update(self.nth.to_le_bytes());
        hash.update(self.key.to_string().as_bytes());
        let mut random = ChaCha8Rng::from_seed(hash.finalize().into());
        let normal = Normal::new(ms, standard_deviation(ms));
        normal.map_or(ms, |normal| normal.sample(&mut random)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: LatencyDraw<'static> = LatencyDraw { key: &"k", take: 1, nth: 1 };

    #[test]
    fn replay_keeps_recorded_times_and_divides_by_speed() {
        let model = Latency::Replay { speed: 2.0, fallback_ms: 0.0 };
        let schedule = model.schedule([10.0, 30.0, 20.0].into_iter(), Some(100.0), &K).unwrap();
        let ms: Vec<u128> = schedule.chunks.iter().map(Duration::as_millis).collect();
        assert_eq!((ms, schedule.end.as_millis()), (vec![5, 15, 15], 50));
    }

    #[test]
    fn normal_is_the_same_for_the_same_call_and_differs_between_calls() {
        let model = Latency::Normal { ms: 100.0, seed: 7 };
        let at = |key: &str, take, nth| {
            let drawn = LatencyDraw { key: &key, take, nth };
            model.schedule([0.0].into_iter(), None, &drawn).unwrap().end
        };
        assert_eq!(at("a", 1, 1), at("a", 1, 1));
        assert_ne!(at("a", 1, 1), at("a", 2, 1));
        assert_ne!(at("a", 1, 1), at("a", 1, 2));
        assert_ne!(at("a", 1, 1), at("b", 1, 1));
    }

    #[test]
    fn normal_has_the_mean_and_spread_of_its_formula() {
        let draws =
            (1..=4000).map(|nth| LatencyDraw { key: &"k", take: 1, nth }.random_wait(200.0, 1));
        let draws: Vec<f64> = draws.collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let spread = (draws.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / 4000.0).sqrt();
        assert!((mean - 200.0).abs() < 2.0, "mean {mean}");
        assert!((spread - 20.0).abs() < 1.5, "spread {spread}");
    }

    #[test]
    fn sequence_waits_as_the_numbers_of_python_say() {
        let model = Latency::Sequence { ms: 100.0, numbers: GaussSequence::new(42) };
        let waits = (1..=6).map(|_| {
            let schedule = model.schedule([0.0, 5.0].into_iter(), Some(9.0), &K).unwrap();
            assert_eq!(schedule.chunks, [schedule.end; 2]);
            (schedule.end.as_secs_f64() * 1000.0).round() as u64
        });
        assert_eq!(waits.collect::<Vec<_>>(), [99, 98, 99, 107, 99, 85]);
    }

    fn millis_of(schedule: &DeliverySchedule) -> (Vec<u128>, u128) {
        (schedule.chunks.iter().map(Duration::as_millis).collect(), schedule.end.as_millis())
    }

    #[test]
    fn chunks_without_times_are_spread_evenly_over_the_latency() {
        let model = Latency::Replay { speed: 2.0, fallback_ms: 80.0 };
        let spread = |latency| millis_of(&model.spread_evenly(4, latency, &K).unwrap());
        assert_eq!(spread(Some(400.0)), (vec![50, 100, 150, 200], 200));
        assert_eq!(spread(None), (vec![10, 20, 30, 40], 40));
        assert_eq!(millis_of(&model.spread_evenly(0, Some(100.0), &K).unwrap()), (vec![], 50));
    }

    #[test]
    fn other_models_have_chunks_without_times_wait_as_any_others() {
        assert_eq!(Latency::None.spread_evenly(3, Some(100.0), &K), None);
        let constant = Latency::Constant { ms: 70.0 };
        let schedule = constant.spread_evenly(2, Some(100.0), &K).unwrap();
        assert_eq!(millis_of(&schedule), (vec![70, 70], 70));
        let normal = Latency::Normal { ms: 70.0, seed: 3 };
        let times = [1.0, 2.0].into_iter();
        assert_eq!(normal.spread_evenly(2, None, &K), normal.schedule(times, None, &K));
    }

    #[test]
    fn scripted_times_hold_under_any_model() {
        let times = || [0.0, 100.0, 250.0].into_iter();
        let of = |model: Latency| millis_of(&model.scripted_schedule(times(), 1).unwrap());
        assert_eq!(of(Latency::None), (vec![0, 100, 250], 250));
        assert_eq!(of(Latency::Constant { ms: 40.0 }), (vec![40, 140, 290], 290));
        assert_eq!(of(Latency::Replay { speed: 2.0, fallback_ms: 9e9 }), (vec![0, 50, 125], 125));
        let normal = Latency::Normal { ms: 40.0, seed: 1 }.scripted_schedule(times(), 1).unwrap();
        assert_eq!(normal.chunks[1] - normal.chunks[0], Duration::from_millis(100));
        assert_eq!(Latency::None.scripted_schedule([0.0; 3].into_iter(), 1), None);
    }

    #[test]
    fn recorded_times_that_cannot_be_are_not_waited_for() {
        let model = Latency::Replay { speed: 0.5, fallback_ms: 0.0 };
        let times = [10.0, 1e300, f64::INFINITY, f64::NAN, -1e300, 3_600_001.0, 5.0, 20.0];
        let schedule = model.schedule(times.into_iter(), Some(1e300), &K).unwrap();
        assert_eq!(millis_of(&schedule), (vec![20, 20, 20, 20, 20, 20, 20, 40], 40));
        let spread = model.spread_evenly(2, Some(1e300), &K).unwrap();
        assert_eq!(millis_of(&spread), (vec![0, 0], 0));
        for speed in [f64::MIN_POSITIVE, f64::MAX] {
            let model = Latency::Replay { speed, fallback_ms: 0.0 };
            let schedule = model.schedule([1.0].into_iter(), None, &K).unwrap();
            assert!(schedule.end <= Duration::from_secs(86_400));
        }
    }

    #[test]
    fn nonsense_times_do_not_panic() {
        let model = Latency::Replay { speed: 1.0, fallback_ms: f64::NAN };
        let schedule = model.schedule([-5.0, f64::INFINITY, 1e300].into_iter(), None, &K);
        assert!(schedule.unwrap().end <= Duration::from_secs(86_400));
    }
}
