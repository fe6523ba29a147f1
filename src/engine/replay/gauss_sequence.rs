//! The numbers of `gauss` of Python's `random.Random`, which waits are
//! drawn from: one sequence for a run, one number for each call.
//!
//! The seeding and the formula are those of CPython 3.

use std::f64::consts::TAU;
use std::sync::{Mutex, PoisonError};

use rand_mt::Mt;

/// The sequence of one seed.
#[derive(Debug)]
pub struct GaussSequence(Box<Mutex<PythonRandom>>);

impl GaussSequence {
    /// Returns the sequence that `random.Random(seed)` begins.
    pub fn new(seed: u64) -> Self {
        let words = match seed {
            0..=0xffff_ffff => vec![seed as u32],
            _ => vec![seed as u32, (seed >> 32) as u32],
        };
        let random = PythonRandom { generator: Mt::new_with_key(words), second: None };
        Self(Box::new(Mutex::new(random)))
    }

    /// Returns the next number of the distribution with this mean and standard deviation.
    pub fn draw(&self, mean: f64, deviation: f64) -> f64 {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mean + random.next_normal() * deviation
    }
}

#[derive(Debug)]
struct PythonRandom {
    generator: Mt,
    /// Numbers are made in pairs; this is the second of the last pair.
    second: Option<f64>,
}

impl PythonRandom {
    /// A number from 0 to 1, with 53 random bits.
    fn next_uniform(&mut self) -> f64 {
        let (high, low) = (self.generator.next_u32() >> 5, self.generator.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// A number with mean 0 and standard deviation 1.
    fn next_normal(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        let angle = self.next_uniform() * TAU;
        let radius = (-2.0 * (1.0 - self.next_uniform()).ln()).sqrt();
        self.second = Some(angle.sin() * radius);
        angle.cos() * radius
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[r.gauss(100, 10) for _ in range(3)]`, with `r = random.Random(SEED)` of CPython 3.11.
    #[test]
    fn numbers_are_those_of_python() {
        let python = [
            (0, [109.417154046, 86.034218952, 93.202855519]),
            (5, [88.211582487, 88.518393192, 106.694689143]),
            (42, [98.559096704, 98.270963996, 98.886841384]),
            ((1 << 40) + 3, [102.382835751, 112.401115800, 123.387140698]),
        ];
        for (seed, numbers) in python {
            let sequence = GaussSequence::new(seed);
            for number in numbers {
                let drawn = sequence.draw(100.0, 10.0);
                assert!((drawn - number).abs() < 1e-8, "{seed}: {drawn}, not {number}");
            }
        }
    }
}
