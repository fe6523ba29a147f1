//! The hashes of plain entries: those of a request, computed from what an adapter was given.
//!
//! Such an entry has the hash of a call before the adapter wrote the provider's request. One wire request can
//! come from several inputs: an adapter sends its default where no limit was given, and the same
//! system text for none and for an empty one. So each part has alternatives, the likeliest first.

use sha2::{Digest, Sha256};

use super::canonical;
use super::digest::to_hex;
use super::json::Json;
use super::key::{self, RequestKey};
use super::request_parts::RequestParts;
use super::rules::IdentityRules;

/// The most hashes that one request is looked up by.
pub const MOST_HASHES: usize = 64;

/// What an adapter can have been given, as alternatives for each part.
#[derive(Clone, Debug)]
pub struct AdapterInputs<'a> {
    /// The lists of messages.
    pub messages: Vec<Json<'a>>,
    /// The model.
    pub model: Json<'a>,
    /// The temperature; `null` if none was given.
    pub temperature: Json<'a>,
    /// The limits on the answer's length; `null` for none.
    pub max_tokens: Vec<Json<'a>>,
    /// The objects of further arguments.
    pub extra: Vec<Json<'a>>,
}

impl AdapterInputs<'_> {
    /// Returns the `request_hash` of each combination of alternatives, the likeliest first, at most
    /// [`MOST_HASHES`]. Its text is
    /// `{"extra": …, "max_tokens": …, "messages": …, "model": …, "temperature": …}`.
    pub fn request_hashes(&self) -> Vec<RequestKey> {
        let messages: Vec<String> = self.messages.iter().map(canonical::value_text).collect();
        let (model, temperature) =
            (canonical::value_text(&self.model), canonical::value_text(&self.temperature));
        let mut hashes = Vec::new();
        for extra in &self.extra {
            let extra = canonical::value_text(extra);
            for max_tokens in &self.max_tokens {
                let max_tokens = canonical::value_text(max_tokens);
                let head = format!("{{\"extra\": {extra}, \"max_tokens\": {max_tokens}, ");
                let tail = format!(", \"model\": {model}, \"temperature\": {temperature}}}");
                hashes.extend(
                    messages.iter().map(|list| hash_of(&[&head, "\"messages\": ", list, &tail])),
                );
            }
        }
        hashes.truncate(MOST_HASHES);
        hashes
    }

    /// Returns the hash of each list of messages alone, which older entries have.
    pub fn messages_hashes(&self) -> Vec<RequestKey> {
        let mut hashes: Vec<_> =
            self.messages.iter().map(|list| hash_of(&[&canonical::value_text(list)])).collect();
        hashes.truncate(MOST_HASHES);
        hashes
    }
}

fn hash_of(pieces: &[&str]) -> RequestKey {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    RequestKey::from_hex(to_hex(&hash.finalize().into()))
}

impl RequestParts<'_> {
    /// Whether the path and the body alone say what is asked: there is no query, and under `rules`
    /// no header counts but those in `allowed`.
    pub fn is_bare(&self, allowed: &[(&str, &str)], rules: &IdentityRules) -> bool {
        let is_allowed = |(name, value): &(&str, String)| {
            *name == "content-type" || allowed.contains(&(*name, value.as_str()))
        };
        key::query_of(self).is_empty() && key::key_headers(self, rules).iter().all(is_allowed)
    }
}
