//! The key workload: how fast keys are computed, which are the canonical text and hash of long chat
//! bodies, on one thread.

use std::hint::black_box;
use std::time::{Duration, Instant};

use loomrec_identity::{IdentityRules, KeyForm, RequestKey, RequestParts};
use serde_json::json;

use crate::quantile::median;
use crate::sample::{Kind, Request};
use crate::transport::Transport;

/// Its name among the workloads.
pub const NAME: &str = "key";
/// The approximate size of a body, in bytes.
const SIZE: usize = 256 << 10;

/// The speed for bodies of one kind.
pub struct Speed {
    /// The content of the body.
    pub what: &'static str,
    /// Millions of bytes per second.
    pub megabytes: f64,
}

/// Measures each kind of body.
pub fn run() -> Vec<Speed> {
    crate::say("bench: key: canonical text and hash");
    let mut bodies = vec![(
        "prose with quotes and dashes",
        Request::new(Kind::Long, Transport::Plain.host()).body().to_vec(),
    )];
    for (what, piece) in PIECES {
        bodies.push((what, body(piece)));
    }
    bodies.iter().map(|(what, body)| Speed { what, megabytes: speed(body) }).collect()
}

/// Typical content of conversations.
const PIECES: [(&str, &str); 4] = [
    ("plain prose", "It was a bright cold day in April, and the clocks were striking thirteen. "),
    (
        "code",
        "fn main() {\n    let name = \"world\";\n\tprintln!(\"hello {name}\\n\"); // \u{2713}\n}\n",
    ),
    (
        "Chinese and Japanese",
        "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\u{3002}\u{3053}\u{3093}\
      \u{306b}\u{3061}\u{306f}\u{3001}\u{4e16}\u{754c}\u{306e}\u{7686}\u{3055}\u{3093}\u{3002}",
    ),
    ("an image in base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"),
];

/// Returns a conversation made of `piece`.
fn body(piece: &str) -> Vec<u8> {
    let text = piece.repeat(2_000 / piece.len() + 1);
    let turn = |n: usize| json!({ "role": (["user", "assistant"][n % 2]), "content": text });
    let messages: Vec<_> = (0..SIZE / text.len()).map(turn).collect();
    json!({ "model": "gpt-4o-mini", "messages": messages, "temperature": 0.2 })
        .to_string()
        .into_bytes()
}

/// Returns the median speed of several rounds.
fn speed(body: &[u8]) -> f64 {
    let headers = [("content-type".to_owned(), "application/json".to_owned())];
    let parts =
        RequestParts { form: KeyForm::Chat, method: "POST", query: "", headers: &headers, body };
    let rules = IdentityRules::default();
    let round = |_| {
        let (start, mut times) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_millis(60) {
            black_box(RequestKey::from_parts(black_box(&parts), &rules));
            times += 1;
        }
        f64::from(times) * body.len() as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    median((0..5).map(round))
}
