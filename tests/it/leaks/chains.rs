//! Tests of the removal of a credential alone, without processes: random secrets, chains of
//! spellings, and texts around them.

use std::time::Instant;

use loomrec_recording::redact::{CallCredentials, Placeholders, Redactor};
use serde_json::json;

use super::Chance;
use super::search::LeakSearch;
use super::spelling::{secret, spelled, text, wide};
use crate::support::chance::rounds;

/// What comes directly before and after a spelled secret.
const AROUND: [&str; 12] = [
    "",
    " ",
    "key=",
    "Bearer ",
    "/v1/files/",
    "\\ ",
    "100% ",
    "&#; ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "0a1b2c3d4e5f",
    "data:image/png;base64,iVBORw0KGgo",
    "\u{e9}\u{6f22}",
];

/// One text with a secret, and its media type.
struct Sample {
    secret: String,
    media: String,
    body: Vec<u8>,
}

impl Sample {
    fn new(chance: &mut Chance) -> Self {
        let secret = secret(chance);
        let spelled = spelled(&secret, 3, chance);
        let mut side = || {
            let fixed = AROUND[chance.below(AROUND.len())];
            let length = chance.below(6);
            (fixed, text(chance, "ABCabc019+/=;u {}\"'.,", length))
        };
        let ((first, before), (last, after)) = (side(), side());
        let mut said = format!("{before} {first}{spelled}{last} {after}");
        let is_wide = chance.below(8) == 0;
        if is_wide {
            // A file in UTF-16 that a program read as if each byte were a character.
            said = wide(&said, chance).into_iter().map(char::from).collect();
        }
        let (media, body) = match chance.below(4) {
            0 => ("text/plain", said),
            1 => ("application/json", json!({ "a": [said], "b": 1 }).to_string()),
            2 => ("application/json", json!({ said: { "n": null } }).to_string()),
            _ => {
                let value: String = url::form_urlencoded::byte_serialize(said.as_bytes()).collect();
                ("application/x-www-form-urlencoded", format!("a=1&b={value}&c"))
            }
        };
        let (media, body) = match is_wide {
            true => (media.to_owned(), body.into_bytes()),
            false => encoded(media, body, chance),
        };
        Self { secret, media, body }
    }

    /// The text without its secret, as an exchange stores it.
    fn redacted(&self, redactor: &Redactor) -> Vec<u8> {
        let header = ("authorization".to_owned(), format!("Bearer {}", self.secret));
        let secrets = CallCredentials::for_known_provider(&[header], "");
        let mut placeholders = Placeholders::default();
        redactor.redact_body(&self.media, &self.body, &secrets, &mut placeholders).into_owned()
    }
}

/// A body of this media type in UTF-8, UTF-16 or UTF-32, with or without a mark and a charset.
fn encoded(media: &str, body: String, chance: &mut Chance) -> (String, Vec<u8>) {
    let charset = ["", "; charset=utf-16", "; charset=UTF-32"][chance.below(3)];
    let mark = ["", "\u{feff}"][chance.below(2)];
    match chance.below(3) {
        0 => (format!("{media}{charset}"), wide(&format!("{mark}{body}"), chance)),
        _ => (media.to_owned(), body.into_bytes()),
    }
}

#[test]
fn secret_in_any_chain_of_spellings_is_removed_from_any_text() {
    let (mut chance, count, began) = (Chance::new(), rounds(5_000, 2_000_000), Instant::now());
    let redactor = Redactor::new(&[]).unwrap();
    let (mut search, mut missed) = (LeakSearch::new(), Vec::new());
    for _ in 0..count {
        let sample = Sample::new(&mut chance);
        let clean = sample.redacted(&redactor);
        search.forget();
        if let Some(leak) = search.find(&clean) {
            missed.push(format!(
                "{:?} in {}:\n{}\nis left in\n{}\nas {leak:#?}",
                sample.secret,
                sample.media,
                String::from_utf8_lossy(&sample.body),
                String::from_utf8_lossy(&clean),
            ));
        }
    }
    eprintln!("{count} texts in {:?}, {} with a secret left", began.elapsed(), missed.len());
    missed.sort_by_key(String::len);
    assert!(missed.is_empty(), "{}", missed.into_iter().take(5).collect::<Vec<_>>().join("\n\n"));
}
