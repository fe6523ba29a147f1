//! Fuzz target for compressed bodies: never more than the limit, and the same result in pieces and
//! at once.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_recording::encoding::{decode_available, decode_body, decode_pieces};

const NAMES: [&str; 7] = ["gzip", "deflate", "br", "zstd", "x-gzip", "gzip, gzip", "br, zstd"];
const MOST: usize = 1 << 20;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&kind, rest)) = data.split_first() else { return Corpus::Reject };
    let name = NAMES[usize::from(kind) % NAMES.len()];
    let plain = decode_body(name, rest, MOST);
    assert!(plain.as_ref().is_none_or(|plain| plain.len() <= MOST));
    // The input chooses the size of the pieces.
    let pieces: Vec<&[u8]> = rest.chunks(1 + usize::from(kind >> 3)).collect();
    let joined = decode_pieces(name, &pieces, MOST).map(|pieces| {
        assert!(pieces.windows(2).all(|two| two[0].of <= two[1].of), "pieces are in order");
        pieces.into_iter().flat_map(|piece| piece.data).collect::<Vec<u8>>()
    });
    if !rest.is_empty() {
        assert_eq!(joined, plain, "a body in pieces says what it says at once");
    }
    let available = decode_available(name, rest, MOST);
    assert!(available.plain.len() <= MOST);
    assert_eq!(available.problem.is_none(), plain.is_some(), "what decodes has no problem");
    if let Some(plain) = &plain {
        assert_eq!(&available.plain, plain);
        // A cut body decodes to a prefix of the whole. `deflate` may mean two formats.
        let cut = decode_available(name, &rest[..rest.len() / 2], MOST);
        let either = name == "deflate";
        assert!(either || plain.starts_with(&cut.plain), "{name}");
    }
    Corpus::Keep
});
