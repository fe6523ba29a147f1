use std::io::Write;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};

use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_decodes_and_damage_does_not() {
    let packed = gzip(b"hello hello hello");
    assert_eq!(decode_body("gzip", &packed, 100).as_deref(), Some(&b"hello hello hello"[..]));
    assert_eq!(decode_body("gzip", &packed[..packed.len() - 9], 100), None);
    assert_eq!(decode_body("gzip", &packed, 5), None);
}

#[test]
fn each_piece_gives_what_it_completes() {
    let texts = ["one, ", "two, ", "three"];
    for cut in [0, 3, 9] {
        // Flushed after each text, as a streaming server does.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut ends = vec![];
        for text in texts {
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.flush().unwrap();
            ends.push(encoder.get_ref().len());
        }
        let packed = encoder.finish().unwrap();
        let cuts = [0, ends[0] - cut, ends[1], ends[2], packed.len()];
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|at| &packed[at[0]..at[1]]).collect();
        let plain = decode_pieces("gzip", &pieces, 100).unwrap();
        let all: Vec<u8> = plain.iter().flat_map(|piece| piece.data.clone()).collect();
        assert_eq!(all, b"one, two, three");
        let last = plain.last().unwrap();
        assert_eq!((last.of, last.data.as_slice()), (2, &b"three"[..]));
        if cut == 0 {
            assert_eq!(plain[0], PlainPiece { of: 0, data: b"one, ".to_vec() });
        } else {
            assert_eq!(plain.iter().find(|piece| piece.data.ends_with(b"two, ")).unwrap().of, 1);
        }
        assert_eq!(decode_pieces("gzip", &pieces[..2], 100), None);
        assert_eq!(decode_pieces("gzip", &pieces, 14), None);
    }
    let plain = decode_pieces("identity", &[b"a", b"", b"b"], 9).unwrap();
    assert_eq!(plain.iter().map(|piece| piece.of).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn codings_upon_each_other_decode_and_bombs_do_not() {
    let text = b"hello ".repeat(100);
    let twice = gzip(&gzip(&text));
    assert_eq!(decode_body("gzip, gzip", &twice, 1000).as_deref(), Some(&text[..]));
    let many = "gzip, ".repeat(9);
    assert_eq!(try_decode(&many, &twice, 1000), Err(DecodeError::Unknown));
    let member = gzip(&vec![0; 4 << 20]);
    let bomb: Vec<u8> = member.repeat(32);
    assert_eq!(try_decode("gzip", &bomb, LARGEST), Err(DecodeError::TooLarge));
    assert_eq!(try_decode("gzip, gzip", &gzip(&bomb), LARGEST), Err(DecodeError::TooLarge));
    let large = member.repeat(3);
    assert_eq!(decode_body("gzip", &large, LARGEST).map(|plain| plain.len()), Some(12 << 20));
    assert_eq!(try_decode("gzip", &large[..large.len() - 9], LARGEST), Err(DecodeError::Cut));
}

#[test]
fn start_of_a_cut_body_is_what_came_before_the_cut() {
    let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
    let packed = gzip(&text);
    let start = decode_available("gzip", &packed[..packed.len() / 2], 1 << 20).plain;
    assert!(start.len() > 1000 && text.starts_with(&start), "{}", start.len());
    let unknown = decode_available("snappy", &packed, 1 << 20);
    assert_eq!((unknown.plain.len(), unknown.problem), (0, Some(DecodeError::Unknown)));
}

#[test]
fn start_of_a_cut_body_is_found_in_bare_deflate_as_well() {
    let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&text).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(decode_body("deflate", &packed, 1 << 20).as_deref(), Some(&text[..]));
    let start = decode_available("deflate", &packed[..packed.len() / 2], 1 << 20).plain;
    assert!(start.len() > 1000 && text.starts_with(&start), "{}", start.len());
}

#[test]
fn unknown_coding_is_left_alone() {
    assert_eq!(decode_body("snappy", b"x", 10), None);
    assert_eq!(decode_body("", b"x", 10).as_deref(), Some(&b"x"[..]));
}

#[test]
fn acceptance_follows_names_and_zero_quality() {
    assert!(is_accepted(Some("gzip, deflate"), "gzip"));
    assert!(is_accepted(Some("*"), "br"));
    assert!(!is_accepted(Some("gzip;q=0, br"), "gzip"));
    assert!(is_accepted(Some("gzip;q=0.5"), "gzip"));
    assert!(!is_accepted(None, "gzip"));
    assert!(is_accepted(None, "identity"));
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A brotli stream whose text is not compressed, with a metadata block before it.
fn brotli(metadata: &[u8], text: &[u8]) -> Vec<u8> {
    let skipped = metadata.len() as u32 - 1;
    let head = (0b010_1100 | skipped << 7).to_le_bytes();
    let block = ((text.len() as u32 - 1) << 3 | 1 << 19).to_le_bytes();
    [&head[..2], metadata, &block[..3], text, &[3]].concat()
}

/// Some hundred kilobytes of text that does not compress well.
fn long_text() -> Vec<u8> {
    (0..40_000_u64).flat_map(|at| format!("{:x} ", at * at * 2_654_435_761).into_bytes()).collect()
}

#[test]
fn frames_of_zstandard_are_read_one_behind_the_other() {
    let (one, two) = (zstd(b"hello "), zstd(b"world"));
    let skipped = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let frames = [&one[..], &skipped, &two, &zstd(b"")].concat();
    assert_eq!(decode_body("zstd", &frames, 100).as_deref(), Some(&b"hello world"[..]));
    let pieces = decode_pieces("zstd", &[&one, &skipped, &two], 100).unwrap();
    let of = |of, data: &[u8]| PlainPiece { of, data: data.to_vec() };
    assert_eq!(pieces, [of(0, b"hello "), of(2, b"world")]);
    let [mut wrong, cut] = [&frames[..], &skipped[..7]].map(<[u8]>::to_vec);
    wrong[one.len() + 1] ^= 1;
    assert_eq!(try_decode("zstd", &wrong, 100), Err(DecodeError::Damaged));
    assert_eq!(try_decode("zstd", &cut, 100), Err(DecodeError::Cut));
    assert_eq!(try_decode("zstd", &frames, 10), Err(DecodeError::TooLarge));
}

#[test]
fn zstandard_that_is_cut_gives_the_blocks_before_the_cut() {
    let text = long_text();
    for (level, is_raw) in
        [(CompressionLevel::Fastest, false), (CompressionLevel::Uncompressed, true)]
    {
        let packed = compress_to_vec(&text[..], level);
        let mut problems = Vec::new();
        for end in (1..packed.len()).step_by(997).chain(packed.len() - 9..packed.len()) {
            let decoded = decode_available("zstd", &packed[..end], 1 << 20);
            assert!(text.starts_with(&decoded.plain), "{end}");
            // Blocks have 128 KiB. Uncompressed blocks are returned byte by byte.
            let missing = if is_raw { 64 } else { 128 << 10 };
            let expected = (text.len() * end / packed.len()).saturating_sub(missing);
            assert!(decoded.plain.len() + 20_000 >= expected, "{end}: {}", decoded.plain.len());
            problems.push(decoded.problem);
        }
        assert!(problems.iter().all(Option::is_some));
        // A cut compressed block leaves bytes that were not decoded.
        assert_eq!(problems.contains(&Some(DecodeError::Damaged)), !is_raw);
    }
}

#[test]
fn bytes_behind_the_end_of_a_coding_are_damage() {
    let text = b"hello hello hello";
    let codings = [
        ("gzip", gzip(text)),
        ("deflate", zlib(text)),
        ("br", brotli(b"note", text)),
        ("zstd", zstd(text)),
    ];
    for (name, packed) in codings {
        assert_eq!(decode_body(name, &packed, 100).as_deref(), Some(&text[..]), "{name}");
        for end in [&b"\r\n"[..], &[0; 300]] {
            let padded = [&packed, end].concat();
            assert_eq!(decode_body(name, &padded, 100).as_deref(), Some(&text[..]), "{name}");
        }
        for end in [&b"x"[..], b"\nand more", &[0; 600]] {
            let longer = [&packed, end].concat();
            assert_eq!(try_decode(name, &longer, 100), Err(DecodeError::Damaged), "{name}");
        }
        for end in 1..packed.len() {
            let cut = decode_available(name, &packed[..end], 100);
            assert!(cut.problem.is_some() && text.starts_with(&cut.plain), "{name} {end}");
        }
        assert_eq!(decode_body(name, b"", 100).as_deref(), Some(&b""[..]), "{name}");
    }
}

#[test]
fn gzip_has_names_comments_and_members() {
    let named = |text: &[u8]| {
        let header = GzBuilder::new().filename("name").comment("note").extra(&b"more"[..]);
        let mut encoder = header.write(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let members = [named(b"hello "), gzip(b"world")].concat();
    assert_eq!(decode_body("gzip", &members, 100).as_deref(), Some(&b"hello world"[..]));
    let mut wrong = members.clone();
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    assert_eq!(try_decode("gzip", &wrong, 100), Err(DecodeError::Damaged));
}

#[test]
fn inner_bomb_is_bounded() {
    let empty = zstd(b"").repeat(1 << 18);
    let bomb = gzip(&empty.repeat(8));
    assert_eq!(try_decode("zstd, gzip", &bomb, 1000), Err(DecodeError::TooLarge));
}

#[test]
fn coding_is_that_of_all_headers_and_none_where_it_says_nothing() {
    let coding = |values: &[&str]| {
        let headers = values.iter().map(|value| ("content-encoding".into(), (*value).into()));
        coding_in(&headers.collect::<Vec<(String, String)>>())
    };
    assert_eq!(coding(&[]), None);
    assert_eq!(coding(&["Identity", " identity, "]), None);
    assert_eq!(coding(&["identity", "gzip"]).as_deref(), Some("identity,gzip"));
}

proptest! {
    #[test]
    fn cut_body_gives_all_that_came_before_the_cut(
        words in proptest::collection::vec("[a-z]{1,9}", 1..400),
        part in 0.0..1.0,
    ) {
        let text = words.join(" ").into_bytes();
        for (name, packed) in [("gzip", gzip(&text)), ("deflate", zlib(&text))] {
            let end = (packed.len() as f64 * part) as usize;
            let cut = decode_available(name, &packed[..end], 1 << 20);
            prop_assert!(text.starts_with(&cut.plain));
            prop_assert_ne!(cut.problem, Some(DecodeError::Damaged));
            if packed.len() - end > 8 && end > 0 {
                prop_assert_eq!(cut.problem, Some(DecodeError::Cut));
            }
        }
    }
}
