use loomrec_identity::IdentityRules;
use loomrec_recording::EntryName;
use std::fs::File;
use std::io::Write as _;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use loomrec_recording::{Chunk, ChunkLayout, Entry, ResponsePayload, log_codec};

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn framed(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        write_frame(7, payload, &mut out).unwrap();
    }
    out
}

fn payloads(file: &File) -> (Vec<Vec<u8>>, LogContents) {
    let scanned = scan_frames(file).unwrap();
    (scanned.frames.iter().map(|frame| read_payload(file, *frame).unwrap()).collect(), scanned)
}

#[test]
fn frames_are_laid_out_as_documented() {
    let bytes = framed(&[b"123456789"]);
    assert_eq!(bytes[..4], [0x8b, 0x4c, 0x52, 0x0a]);
    assert_eq!(bytes[4..12], [1, 0, 0, 0, 25, 0, 0, 0]);
    // The result of Python's zlib.crc32 for bytes 4 to 11 and all from 16 on.
    assert_eq!(u32::from_le_bytes(bytes[12..16].try_into().unwrap()), 0xe430_eadd);
    assert_eq!(bytes[16..32], 7_u128.to_le_bytes());
    assert_eq!(&bytes[32..], b"123456789");
}

#[test]
fn names_have_the_same_fingerprint_only_when_they_are_the_same() {
    let hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let of = |key: &str| name_fingerprint(&EntryName::of_key(key).0);
    assert_eq!(of(hash), 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    assert_eq!(of(&format!("{hash}#2")), of(hash));
    // The result of sha256sum.
    assert_eq!(of("a"), 0xca97_8112_ca1b_bdca_fac2_31b3_9a23_dc4d);
    assert_ne!(of("a"), of("b"));
    assert_ne!(of(&"0".repeat(64)), ABOUT);
}

#[test]
fn every_whole_frame_is_found_wherever_a_log_is_cut() {
    let bytes = framed(&[b"one", b"", b"three and more"]);
    let ends = [0, 35, 67, 113];
    assert_eq!(bytes.len(), ends[3]);
    for cut in 0..=bytes.len() {
        let file = file(&bytes[..cut]);
        let scanned = scan_frames(&file).unwrap();
        let whole = ends.iter().rposition(|end| *end <= cut).unwrap();
        assert_eq!(scanned.frames.len(), whole, "cut at {cut}");
        assert_eq!(scanned.whole, ends[whole] as u64);
        assert_eq!((scanned.len, scanned.torn_length()), (cut as u64, (cut - ends[whole]) as u64));
    }
}

#[test]
fn frame_with_any_byte_changed_does_not_check() {
    let bytes = framed(&[b"one", b"two"]);
    for at in 35..bytes.len() {
        for bit in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= bit;
            let (payloads, scanned) = payloads(&file(&damaged));
            assert_eq!(payloads, [b"one"], "byte {at}");
            let aside = scanned.damaged.len() + usize::from(scanned.torn_length() > 0);
            assert_eq!(aside, 1, "byte {at}");
        }
    }
}

#[test]
fn length_beyond_the_end_or_the_limit_is_not_believed() {
    for length in [0, 15, 17, LONGEST, LONGEST + 1, u32::MAX] {
        let mut bytes = framed(&[b"", b""]);
        bytes[40..44].copy_from_slice(&length.to_le_bytes());
        let scanned = scan_frames(&file(&bytes)).unwrap();
        assert_eq!((scanned.frames.len(), scanned.frames[0].end_offset()), (1, 32));
    }
}

#[test]
fn frame_of_a_newer_version_is_not_torn() {
    let mut bytes = framed(&[b"one"]);
    let payload = b"new";
    let checked: Vec<u8> = [9_u32.to_le_bytes(), 3_u32.to_le_bytes()].concat();
    let sum = crc32fast::hash(&[checked.as_slice(), payload].concat());
    bytes.extend([&MARK[..], &checked, &sum.to_le_bytes(), payload].concat());
    let scanned = scan_frames(&file(&bytes)).unwrap();
    assert_eq!((scanned.frames.len(), scanned.newer, scanned.torn_length()), (1, true, 0));
}

#[test]
fn scan_goes_on_from_a_frame_and_stops_at_the_end() {
    let bytes = framed(&[b"one", b"two"]);
    let file = file(&bytes);
    let scanned = scan_from(&file, 35).unwrap();
    assert_eq!(
        scanned.frames,
        [FramePlace { at: 67, len: 3, name: 7, sum: scanned.frames[0].sum }]
    );
    assert_eq!(scanned.frames[0].end_offset(), 70);
    assert_eq!(scan_from(&file, 70).unwrap().frames, []);
    assert_eq!(scan_from(&file, 99).unwrap().whole, 70);
}

#[test]
fn whole_frames_behind_damage_are_found_again() {
    let bytes = framed(&[b"one", b"two", b"three"]);
    for at in 35..70 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        let (payloads, scanned) = payloads(&file(&damaged));
        assert_eq!(payloads, [&b"one"[..], b"three"], "byte {at}");
        assert_eq!((scanned.damaged.len(), scanned.torn_length()), (1, 0));
        assert_eq!(scanned.damaged[0], 35..70);
    }
}

/// Returns the frames of entries with these bodies, one after the other, and where they end.
fn entries(bodies: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), vec![0]);
    for (number, body) in bodies.iter().enumerate() {
        let text = format!(r#"{{"content":"answer {number}","response":{{"status":200}}}}"#);
        let mut entry = Entry::parse(&serde_json::from_str(&text).unwrap()).unwrap();
        let chunks = vec![Chunk { at_ms: 1.0, data: Bytes::copy_from_slice(body) }];
        entry.response.as_mut().unwrap().payload = ResponsePayload::new(ChunkLayout::Whole, chunks);
        let name = EntryName::from_step_id(&format!("step {number}")).unwrap();
        write_frame(7, &log_codec::pack_entry(&name, true, &entry), &mut bytes).unwrap();
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn one_damaged_byte_anywhere_costs_one_frame_behind_which_the_log_may_be_torn() {
    let body = [b'x'; 90];
    let (bytes, ends) = entries(&[body.as_slice(); 6]);
    for cut in [0, 5, ends[6] - ends[5] - 40, ends[6] - ends[5] - 9] {
        let end = bytes.len() - cut;
        let whole = if cut == 0 { 6 } else { 5 };
        for at in 0..ends[5] {
            let mut damaged = bytes[..end].to_vec();
            damaged[at] ^= 0x20;
            let scanned = scan_frames(&file(&damaged)).unwrap();
            assert_eq!(scanned.frames.len(), whole - 1, "byte {at}, cut {cut}");
            let lost: u64 = scanned.damaged.iter().map(|range| range.end - range.start).sum();
            assert_eq!((scanned.damaged.len(), lost as usize), (1, ends[1]), "byte {at}");
            assert_eq!(scanned.torn_length() as usize, end - ends[whole], "byte {at}, cut {cut}");
        }
    }
}

#[test]
fn damaged_byte_in_the_last_frame_is_not_taken_for_a_torn_tail() {
    let (bytes, ends) = entries(&[b"one", b"two"]);
    for at in ends[1]..ends[2] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let scanned = scan_frames(&file(&damaged)).unwrap();
        let last = ends[1] as u64..ends[2] as u64;
        assert_eq!((scanned.torn_length(), scanned.damaged), (0, vec![last]), "byte {at}");
    }
}

#[test]
fn two_damaged_bytes_cost_two_frames() {
    let (bytes, ends) = entries(&[b"body".as_slice(); 6]);
    for one in ends[1]..ends[2] {
        for other in (ends[1]..ends[6]).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[one] ^= 0x20;
            damaged[other] ^= 0x10;
            let frames = scan_frames(&file(&damaged)).unwrap().frames.len();
            let hit = ends[1..].iter().filter(|end| one < **end).count()
                - ends[1..].iter().filter(|end| other < **end).count();
            assert_eq!(frames, if hit == 0 { 5 } else { 4 }, "bytes {one} and {other}");
        }
    }
}

#[test]
fn frame_in_a_body_is_not_believed_where_the_frame_around_it_is_torn_or_damaged() {
    let mut body = framed(&[b"an entry that nobody recorded"]);
    body.extend([b'x'; 40]);
    let (bytes, ends) = entries(&[b"first", &body, b"last"]);
    // Torn after the frame in the body.
    let scanned = scan_frames(&file(&bytes[..ends[2] - 40])).unwrap();
    assert_eq!((scanned.frames.len(), scanned.whole as usize), (1, ends[1]));
    for at in ends[1]..ends[2] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let scanned = scan_frames(&file(&damaged)).unwrap();
        assert_eq!(scanned.frames.len(), 2, "byte {at}");
    }
}

#[test]
fn damaged_frames_without_number_are_looked_at_within_bounds() {
    let bare = [&MARK[..], &1_u32.to_le_bytes(), &16_u32.to_le_bytes(), &[0; 20]].concat();
    for filler in [MARK.repeat(300_000), bare.repeat(40_000)] {
        let mut bytes = bare.clone();
        bytes.extend(filler);
        let start = std::time::Instant::now();
        let scanned = scan_frames(&file(&bytes)).unwrap();
        assert_eq!(scanned.frames.len(), 0);
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    }
}

#[test]
fn whole_frame_behind_many_marks_is_found_within_bounds() {
    let mut bytes = framed(&[b"one"]);
    let mut promising = framed(&[&[7; 4000]]);
    promising.truncate(32);
    bytes.extend(promising.repeat(20_000));
    bytes.extend(framed(&[b"inner"]));
    bytes.push(0);
    let start = std::time::Instant::now();
    let scanned = scan_frames(&file(&bytes)).unwrap();
    assert_eq!((scanned.frames.len(), scanned.torn_length()), (2, 0));
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}

proptest! {
    #[test]
    fn what_is_framed_is_found_again(
        payloads_in in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let slices: Vec<&[u8]> = payloads_in.iter().map(Vec::as_slice).collect();
        let mut bytes = framed(&slices);
        let whole = bytes.len() as u64;
        bytes.extend(&tail);
        let (found, scanned) = payloads(&file(&bytes));
        prop_assert_eq!(found, payloads_in);
        let damaged = scanned.damaged.iter().map(|range| range.end - range.start).sum::<u64>();
        prop_assert_eq!(scanned.damaged.first().map_or(scanned.whole, |range| range.start), whole);
        prop_assert_eq!(damaged + scanned.torn_length(), tail.len() as u64);
    }

    #[test]
    fn any_bytes_are_scanned_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let scanned = scan_frames(&file(&bytes)).unwrap();
        prop_assert!(scanned.whole <= scanned.len);
    }
}

#[test]
fn log_says_the_rules_of_its_keys_before_its_entries() {
    let rules = IdentityRules::new(vec![loomrec_identity::JsonPointer::parse("/seed").unwrap()]);
    let mut bytes = Vec::new();
    write_first_frame(&rules, &Default::default(), &mut bytes).unwrap();
    bytes.extend(framed(&[b"one"]));
    let (payloads, scanned) = payloads(&file(&bytes));
    assert_eq!((payloads, scanned.rules), (vec![b"one".to_vec()], Some(rules)));
    assert_eq!(scanned.whole, bytes.len() as u64);
    let mut newer = Vec::new();
    write_frame(ABOUT, b"{\"_loomrec\": {\"format\": \"2.0\"}}", &mut newer).unwrap();
    let scanned = scan_frames(&file(&newer)).unwrap();
    assert!(scanned.newer && scanned.torn_length() == 0);
}

#[test]
fn log_that_grows_while_it_is_scanned_is_not_read_past_its_former_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut bytes = vec![b'x'; 40];
    let former = bytes.len() as u64;
    write_frame(7, b"a whole frame", &mut bytes).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let file = File::open(&path).unwrap();
    let mut damage = damage::DamageFinder::new(&file, former);
    assert_eq!(damage.find_damaged_tail(0, former).unwrap().at, former);
    let behind = damage.find_damaged_tail(0, bytes.len() as u64).unwrap();
    assert_eq!((behind.damaged.len(), behind.at), (1, former));
    assert_eq!(behind.damaged[0], 0..former);
}
