use proptest::prelude::*;
use serde_json::json;

use super::*;
use loomrec_identity::RequestKey;
use loomrec_recording::document::RecordingDocument;
use loomrec_recording::format;
use loomrec_recording::meta::RecordingMeta;

const NEXT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

/// Returns a recording of steps with one take and several, and of hashes with takes.
fn sample(words: &str) -> RecordingDocument {
    let mut cassette = RecordingDocument::new(RecordingMeta::default());
    let names = ["plan", "1", "1", "a \"b\"", "2", "steps", "steps", "steps", "3"];
    for (at, name) in names.into_iter().enumerate() {
        let name = match name.parse::<usize>() {
            Ok(digit) => EntryName::Hash(RequestKey::parse(&format!("{NEXT}{digit}")).unwrap()),
            Err(_) => EntryName::step(name).unwrap(),
        };
        let value = json!({
            "content": format!("{words} {at}"),
            "model": "m",
            "request_hash": format!("{NEXT}{}", at % 10),
            "recorded_at": format!("2026-01-01T00:00:0{at}.000000Z"),
            "request": {"method": "POST", "path": "/v1/chat/completions", "headers": {},
                "body": {"model": "m", "messages": [{"role": "user", "content": words}]}},
            "response": {"status": 200, "headers": {"content-type": "text/event-stream"},
                "end": "complete", "chunks": [[1.0, format!("data: {{\"x\": \"{words}\"}}\n\n")]]},
        });
        cassette.record(name, Entry::parse(&value).unwrap(), false);
    }
    cassette
}

/// Recovers a text that is fed in pieces of this size. Returns the entries by name, and what is
/// lost.
fn salvaged(text: &[u8], size: usize) -> (Vec<(EntryName, Entry)>, Vec<SalvagePiece>) {
    let mut cutter = MemberCutter::default();
    let mut cuts: Vec<CutPiece> =
        text.chunks(size.max(1)).flat_map(|piece| cutter.feed(piece)).collect();
    cuts.extend(cutter.finish());
    assert_eq!(cuts.iter().map(|cut| cut.bytes.as_slice()).collect::<Vec<_>>().concat(), text);
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for cut in cuts {
        assert_eq!(text[cut.at as usize..][..cut.bytes.len()], cut.bytes);
        for piece in recover(&cut.bytes) {
            match piece {
                SalvagePiece::Entry { name, range, .. } => {
                    found.push((name, Entry::read(&cut.bytes[range]).unwrap()));
                }
                SalvagePiece::Lost { .. } => lost.push(piece),
                SalvagePiece::Meta(..) => {}
            }
        }
    }
    (found, lost)
}

/// Returns the ranges of each entry, and of its key or its list's key, in a text.
fn spans(text: &[u8]) -> Vec<(EntryName, Entry, Vec<Range<usize>>)> {
    let mut scanner = loomrec_recording::scan::MemberScanner::new();
    scanner.feed(text).unwrap();
    let whole = |range: &Range<u64>| range.start as usize..range.end as usize;
    let mut spans = Vec::new();
    for member in scanner.finish().unwrap().into_iter().filter(|m| !m.key.starts_with('_')) {
        let (name, _) = EntryName::of_key(&member.key);
        let (at, value) = (member.at as usize, whole(&member.value));
        match &member.shape {
            loomrec_recording::scan::ValueShape::List(items) => {
                let head = at..items[0].start as usize;
                for item in items.iter().map(whole) {
                    let entry = Entry::read(&text[item.clone()]).unwrap();
                    spans.push((name.clone(), entry, vec![head.clone(), item]));
                }
            }
            _ => {
                let entry = Entry::read(&text[value.clone()]).unwrap();
                let place = at..value.end;
                spans.push((name, entry, vec![place]));
            }
        }
    }
    spans
}

/// Returns the recording in one of the styles that people and programs write.
fn spelt(cassette: &RecordingDocument, spelling: usize) -> Vec<u8> {
    let text = format::write(cassette);
    let value = || serde_json::from_slice::<Value>(&text).unwrap();
    match spelling {
        0 => text,
        1 => value().to_string().into_bytes(),
        2 => serde_json::to_string_pretty(&value()).unwrap().replace("  ", "    ").into_bytes(),
        _ => serde_json::to_string_pretty(&value()).unwrap().replace('\n', "\r\n").into_bytes(),
    }
}

/// Checks that damage at this range loses nothing but what it touches.
fn loses_only_what_is_touched(text: &[u8], hurt: &[u8], damage: &Range<usize>, size: usize) {
    let (found, lost) = salvaged(hurt, size);
    let spans = spans(text);
    let touched = |places: &[Range<usize>]| {
        places.iter().any(|place| place.start < damage.end && damage.start < place.end)
    };
    let mut left = found.clone();
    let mut hit = 0;
    for (name, entry, places) in &spans {
        let at = left.iter().position(|(other, found)| other == name && found == entry);
        match at {
            Some(at) => drop(left.remove(at)),
            None => {
                // The damage may merge two takes into one. Then more of that step's list may be
                // lost.
                let is_near =
                    spans.iter().any(|(other, _, places)| other == name && touched(places));
                assert!(touched(places) || is_near, "{name} is lost by {damage:?}: {lost:?}");
                hit += 1;
            }
        }
    }
    assert!(left.len() <= hit, "{left:?}");
}

#[test]
fn a_whole_text_loses_nothing_in_any_spelling() {
    let cassette = sample("words \\\" {\n");
    for spelling in 0..4 {
        let text = spelt(&cassette, spelling);
        for size in [1, 7, 100_000] {
            let (found, lost) = salvaged(&text, size);
            assert_eq!(lost, [], "{spelling}");
            let whole = cassette.entries().map(|(name, _, entry)| (name.clone(), entry.clone()));
            assert_eq!(found, whole.collect::<Vec<_>>(), "{spelling}");
        }
    }
}

#[test]
fn an_entry_without_its_key_is_known_by_its_hash() {
    let text = String::from_utf8(spelt(&sample("x"), 0)).unwrap();
    let hurt = text.replacen("\"plan\": {", "\u{1}plan\": {", 1);
    let pieces = |text: &str| {
        let mut cutter = MemberCutter::default();
        let mut cuts = cutter.feed(text.as_bytes());
        cuts.extend(cutter.finish());
        cuts.iter().flat_map(|cut| recover(&cut.bytes)).collect::<Vec<_>>()
    };
    let keyless = pieces(&hurt).into_iter().filter_map(|piece| match piece {
        SalvagePiece::Entry { name, keyless: true, .. } => Some(name.to_string()),
        _ => None,
    });
    assert_eq!(keyless.collect::<Vec<_>>(), [format!("{NEXT}0")]);
}

#[test]
fn what_is_lost_names_its_key() {
    let text = String::from_utf8(spelt(&sample("x"), 0)).unwrap();
    let (found, lost) = salvaged(text.replacen("x 0\"", "x 0", 1).as_bytes(), 4096);
    assert_eq!(found.len(), 8);
    assert!(
        matches!(&lost[..], [SalvagePiece::Lost { key: Some(key), .. }] if key == "plan"),
        "{lost:?}"
    );
}

#[test]
fn hostile_texts_end_soon_and_without_panic() {
    let deep = format!("{{\n  \"a\": {}", "[".repeat(100_000));
    let opened = "{\"content\":".repeat(50_000);
    let lists = "{\"a\":[".repeat(50_000);
    let keys = "\"a\":{\"content\":\"x\"".repeat(20_000);
    for text in ["", "{", "}", "\"", "{\"a\"", "{\"a\":", &deep, &opened, &lists, &keys] {
        let (found, _) = salvaged(text.as_bytes(), 65_536);
        assert_eq!(found.len(), 0);
    }
    salvaged(&[0; 100_000], 4096);
    salvaged(&[0xff; 100_000], 4096);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn damage_loses_only_what_it_touches(
        words in "[a-z{}\":,\\\\\n]{0,40}",
        spelling in 0_usize..4,
        at in 0.0_f64..1.0,
        bytes in prop::collection::vec(any::<u8>(), 1..40),
        size in 1_usize..5000,
    ) {
        let text = spelt(&sample(&words), spelling);
        let start = (at * (text.len() - bytes.len()) as f64) as usize;
        let mut hurt = text.clone();
        hurt[start..start + bytes.len()].copy_from_slice(&bytes);
        loses_only_what_is_touched(&text, &hurt, &(start..start + bytes.len()), size);
    }

    #[test]
    fn a_cut_loses_only_what_is_behind_it(spelling in 0_usize..4, at in 0.0_f64..1.0) {
        let text = spelt(&sample("words"), spelling);
        let end = (at * text.len() as f64) as usize;
        loses_only_what_is_touched(&text, &text[..end], &(end..text.len()), 4096);
    }

    #[test]
    fn a_hole_loses_only_what_is_around_it(
        spelling in 0_usize..4, at in 0.0_f64..1.0, length in 1_usize..3000,
    ) {
        let text = spelt(&sample("words"), spelling);
        let start = (at * text.len() as f64) as usize;
        let end = text.len().min(start + length);
        let hurt = [&text[..start], &text[end..]].concat();
        loses_only_what_is_touched(&text, &hurt, &(start..end), 4096);
    }
}

#[test]
fn entry_that_swallowed_others_by_a_hole_gives_them_back() {
    // The hole reaches from the request of one take into the hash of the next but one. The result
    // is valid JSON, but not an entry.
    let text = String::from_utf8(spelt(&sample("words"), 1)).unwrap();
    let start = text.find("POST").unwrap();
    let end = text.rfind("abcde4\",\"recorded_at").unwrap();
    let hurt = [&text[..start], &text[end..]].concat();
    loses_only_what_is_touched(text.as_bytes(), hurt.as_bytes(), &(start..end), 4096);
}

#[test]
fn metadata_that_swallowed_entries_by_a_hole_gives_them_back() {
    let text = String::from_utf8(spelt(&sample("words"), 1)).unwrap();
    let start = text.find("\"identity\"").unwrap();
    let end = text.find("\"content\"").unwrap();
    let hurt = [&text[..start], &text[end..]].concat();
    loses_only_what_is_touched(text.as_bytes(), hurt.as_bytes(), &(start..end), 4096);
    assert!(!salvaged(hurt.as_bytes(), 4096).1.is_empty());
}

#[test]
fn hole_before_an_inner_object_does_not_hide_where_members_begin() {
    for spelling in [0, 2, 3] {
        let text = spelt(&sample("words"), spelling);
        let request = text.windows(10).position(|part| part == b"\"request\":").unwrap();
        let end = request + text[request..].iter().position(|byte| *byte == b'{').unwrap();
        loses_only_what_is_touched(&text, &text[end..], &(0..end), 4096);
    }
}
