//! Fuzz target for the frames of a WebSocket, to a server that replays a conversation: it answers with
//! whole frames, in time, and answers the next request as before. An even first byte of the input means
//! that the rest are frames as they are; an odd one, that each message has two bytes before it: its
//! opcode, and its length.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::server::Server;

const HANDSHAKE: &[u8] = b"GET /openai/v1/realtime?model=m HTTP/1.1\r\nhost: 127.0.0.1\r\n\
connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, bytes)) = data.split_first() else { return Corpus::Reject };
    let frames = if kind % 2 == 0 { bytes.to_vec() } else { framed(bytes) };
    let server = Server::replaying();
    let answer = server.send(&[HANDSHAKE, &frames].concat(), true);
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    assert!(answer.starts_with(b"HTTP/1.1 101 "), "the handshake is accepted");
    check_frames(&answer[head + 4..]);
    let health = server.send(
        b"GET /__loomrec/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
        false,
    );
    assert!(health.starts_with(b"HTTP/1.1 200 "), "the server goes on");
    Corpus::Keep
});

/// Returns frames as a client sends them, with a mask of zeros.
fn framed(mut bytes: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let [first, length, rest @ ..] = bytes {
        let (payload, next) = rest.split_at(usize::from(*length).min(rest.len()));
        frames.push(first ^ 0x80);
        match u8::try_from(payload.len()) {
            Ok(short @ ..=125) => frames.push(0x80 | short),
            _ => {
                frames.push(0x80 | 126);
                frames.extend((payload.len() as u16).to_be_bytes());
            }
        }
        frames.extend([0; 4]);
        frames.extend(payload);
        bytes = next;
    }
    frames
}

/// What a server sends are whole frames without a mask, and none follows a close.
fn check_frames(mut bytes: &[u8]) {
    while let [first, second, rest @ ..] = bytes {
        assert!(matches!(first, 0x81 | 0x82 | 0x88 | 0x8a), "a frame of a server: {first:#x}");
        let (length, rest) = match second {
            short @ ..=125 => (usize::from(*short), rest),
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            _ => panic!("the recording has no message as long, and a server masks none"),
        };
        bytes = rest.get(length..).expect("a whole frame");
        assert!(*first != 0x88 || bytes.is_empty(), "nothing follows a close");
    }
    assert!(bytes.is_empty(), "a whole frame");
}
