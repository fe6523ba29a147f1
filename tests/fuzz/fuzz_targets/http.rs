//! Fuzz target for raw requests to a server that replays: it answers or closes, in time, and
//! answers the next request as before.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::server::Server;

fuzz_target!(|data: &[u8]| -> Corpus {
    if data.is_empty() {
        return Corpus::Reject;
    }
    let server = Server::replaying();
    let answer = server.send(data, true);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "what comes back is an answer");
    let health = server.send(
        b"GET /__loomrec/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
        false,
    );
    assert!(health.starts_with(b"HTTP/1.1 200 "), "the server goes on: {}", text(&health));
    Corpus::Keep
});

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned()
}
