//! Fuzz target for raw answers of a hostile upstream to a server that records: the client gets an
//! answer or the end of the connection, in time; the next call is recorded as before; and the
//! recording can be read. The first byte of the input chooses the request.

#![no_main]

use std::sync::atomic::{AtomicU64, Ordering};

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::server::Server;
use loomrec_fuzz::upstream;
use loomrec_store::Recording;

/// The recording is read once in this many inputs.
const READ: u64 = 128;

static INPUTS: AtomicU64 = AtomicU64::new(0);

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, bytes)) = data.split_first() else { return Corpus::Reject };
    let (server, recording) = Server::recording();
    upstream::answer_with(bytes);
    let answer = server.send(&request(kind), false);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "what comes back is an answer");
    upstream::wait_until_closed();
    upstream::answer_with(upstream::GOOD);
    let answer = server.send(&request(0), false);
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "the server goes on: {}", text(&answer));
    assert!(answer.ends_with(b"{\"ok\":true}"), "{}", text(&answer));
    if INPUTS.fetch_add(1, Ordering::Relaxed).is_multiple_of(READ) {
        let held = Recording::open_to_inspect(recording).expect("the recording can be read");
        let entries = held.entries().collect::<Result<Vec<_>, _>>();
        assert!(!entries.expect("and each of its entries").is_empty());
    }
    Corpus::Keep
});

/// Returns a request whose connection is closed after its answer.
fn request(kind: u8) -> Vec<u8> {
    let (method, body) = match kind % 4 {
        0 => ("POST", r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#),
        1 => ("POST", r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#),
        2 => ("GET", ""),
        _ => ("HEAD", ""),
    };
    let path = match kind / 4 % 4 {
        0 => "openai/v1/chat/completions",
        1 => "anthropic/v1/messages",
        2 => "gemini/v1beta/models/m:streamGenerateContent",
        _ => "openai/v1/models",
    };
    format!(
        "{method} /{path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned()
}
