//! Plain implementations of a part of loomrec's work, to see what that part costs: a server that
//! looks up its answers by the hash of the parsed body, and one that reads a whole recording into a
//! map before it serves.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::bare;
use crate::fault::Fault;
use crate::role::{self, Writes};
use crate::sample::{Kind, Request};
use crate::transport::Transport;

/// How many requests a keyed server knows: more than any workload uses.
const KNOWN: u64 = 20_000;

/// Serves answers of `kind`, looked up by the SHA-256 of the request's parsed JSON, for the request
/// numbers that it knows, until stdin is closed.
///
/// # Errors
/// The errors of [`role::serve`].
pub fn run(kind: Kind) -> Result<(), Fault> {
    let chunks: Arc<[Bytes]> = kind.chunks().into();
    let mut request = Request::new(kind, Transport::Plain.host());
    let known = if kind == Kind::Long { 100 } else { KNOWN };
    let mut answers = HashMap::new();
    for number in 0..known {
        request.numbered(number);
        answers.extend(key(request.body()).map(|key| (key, Arc::clone(&chunks))));
    }
    let answers = Arc::new(answers);
    role::serve(None, Writes::Queued, None, move |request| {
        let answers = Arc::clone(&answers);
        async move {
            let read = request.into_body().collect().await;
            let key = read.ok().and_then(|body| key(&body.to_bytes()));
            let found = key.and_then(|key| answers.get(&key).cloned());
            bare::answer(kind, found.unwrap_or_else(|| Arc::new([])))
        }
    })
}

/// Returns the hash of a body's JSON, with members in their original order.
fn key(body: &[u8]) -> Option<[u8; 32]> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(Sha256::digest(value.to_string()).into())
}

/// Reads a recording into a tree of JSON values, builds a map of its entries, and serves on `port`
/// until stdin is closed.
///
/// # Errors
/// A file that is not JSON; the errors of [`role::serve`].
pub fn load(path: &Path, port: u16) -> Result<(), Fault> {
    let failed = |source| Fault::Io { what: "read a recording", source };
    let text = std::fs::read(path).map_err(failed)?;
    let tree: Value = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
    drop(text);
    let mut entries = HashMap::new();
    if let Value::Object(members) = tree {
        entries.extend(members.into_iter().filter(|(name, _)| !name.starts_with('_')));
    }
    let (entries, answer) = (Arc::new(entries), Kind::Call.chunks()[0].clone());
    role::serve(Some(port), Writes::Queued, None, move |_request| {
        // The answer does not matter. What matters is that the map is kept while the server runs.
        let chunks: Arc<[Bytes]> = match entries.is_empty() {
            true => Arc::new([]),
            false => Arc::new([answer.clone()]),
        };
        async move { bare::answer(Kind::Call, chunks) }
    })
}
