//! Fuzz target for multipart bodies: any bytes, and bodies that are built from the input.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_identity::multipart::{MultipartPart, parse};

const TYPE: &str = "multipart/form-data; boundary=";

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    match kind % 2 {
        0 => any(rest),
        _ => written(rest),
    }
    Corpus::Keep
});

/// Checks any bytes. The first line is the content type, the rest the body.
fn any(data: &[u8]) {
    let line = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (head, body) = (&data[..line], data.get(line + 1..).unwrap_or_default());
    let Ok(content_type) = std::str::from_utf8(head) else { return };
    let parts = parse(content_type, body);
    assert_eq!(parts, parse(content_type, body), "the same body has the same parts");
    let Some(parts) = parts else { return };
    let carried: usize = parts.iter().map(|part| part.length).sum();
    assert!(carried <= body.len(), "no byte is counted twice");
    assert!(parts.iter().all(|part| part.sha256.len() == 64));
}

/// Checks parts of the input with two boundaries: the result must not depend on the boundary.
fn written(data: &[u8]) {
    let pieces: Vec<&[u8]> = data.split(|byte| *byte == 0xff).collect();
    let [one, other] = ["aaaaaaaaaaaaaaaaaaaaaaaaX", "b'()+_,-./:=?bbbbbbbbbbbbbbY"];
    // If a boundary occurs in the content, the body has other parts.
    if pieces.iter().any(|piece| holds(piece, one) || holds(piece, other)) {
        return;
    }
    let read = |boundary: &str| -> Vec<MultipartPart> {
        parse(&format!("{TYPE}\"{boundary}\""), &body(&pieces, boundary)).expect("well formed")
    };
    let parts = read(one);
    assert_eq!(parts, read(other), "a boundary says nothing");
    assert_eq!(parts.len(), pieces.len());
    for (number, (part, piece)) in parts.iter().zip(&pieces).enumerate() {
        assert_eq!(part.length, piece.len(), "a part carries its very bytes");
        assert_eq!(part.name.as_deref(), Some(format!("part {number}").as_str()));
        assert_eq!(part.content_type.as_deref(), Some("text/plain"));
    }
}

fn holds(piece: &[u8], boundary: &str) -> bool {
    piece.windows(boundary.len()).any(|window| window == boundary.as_bytes())
}

fn body(pieces: &[&[u8]], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"part {number}\"\r\n\
             content-type: text/plain\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(piece);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}
