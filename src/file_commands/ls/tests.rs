use serde_json::Value;

use super::*;
use crate::show::contents::tests::recording as parsed;

fn at(path: &str) -> RecordingLocation {
    std::path::PathBuf::from(path).into()
}

/// A recording with a bit of everything, including plain AgentLoom entries.
const SAMPLE: &str = include_str!("../show/sample.json");

fn listed(text: &str, width: Option<usize>) -> String {
    listed_holding(text, width, HELD)
}

/// Returns the listing as made when at most this many rows are held in memory.
fn listed_holding(text: &str, width: Option<usize>, held: usize) -> String {
    let (recording, pricing) = (parsed(text), PriceSource::built_in());
    let mut out = Vec::new();
    let question = width.unwrap_or(QUESTION);
    let listing = TakeListing { recording: &recording, pricing: &pricing, held, question };
    listing.write(&at("run.json"), width, &mut out).unwrap();
    anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
}

fn json_of(text: &str) -> String {
    let mut out = Vec::new();
    super::write_json(&parsed(text), &PriceSource::built_in(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn listing_that_is_too_long_to_be_held_reads_the_same() {
    for width in [None, Some(80)] {
        assert_eq!(listed_holding(SAMPLE, width, 3), listed(SAMPLE, width));
    }
}

#[test]
fn listing_has_a_line_for_each_take_and_their_sum() {
    insta::assert_snapshot!(listed(SAMPLE, None), @r###"
    KEY             CALL                   MODEL                      IN  OUT       COST  MODE         TIME  STATUS  END                   SESSION  ASKS
    25fe84f01b4c    openai chat            gpt-4o-mini-2024-07-18      8    3  $0.000003  whole      843 ms  200     complete              -        hi
    25fe84f01b4c#2  openai chat            gpt-4o-mini-2024-07-18      8    3  $0.000003  whole      843 ms  200     complete              -        hi
    25ffe8160039    openai chat            gpt-4o-mini                12    9  $0.000007  stream 5   1.40 s  200     complete              agent-7  weather?
    greet           anthropic messages     claude-sonnet-4-20250514  412   88  $0.002640  whole     61.84 s  200     complete              -        hi
    18ac3e7343f0    openai chat            gpt-4o-mini                 -    -          -  whole      9.0 ms  429     complete              -        fail
    3f79bb7b435b    openai chat            gpt-4o-mini                 -    -    unknown  stream 1    25 ms  200     upstream_abort reset  -        cut
    models          openai GET /v1/models  -                           -    -          -  whole       30 ms  200     complete              -        -
    summarize       -                      gpt-4o                     40    2  $0.000120  -               -  -       -                     -        -
    summarize#2     -                      -                           -    -          -  -               -  -       -                     -        -
    flaky           -                      -                           -    -          -  -               -  -       fault timeout         -        -

    10 calls under 8 keys · 480 tokens in, 105 out · ≥ $0.002773 · identity: ignores /user
    "###);
}

#[test]
fn listing_gives_way_when_the_terminal_is_narrow() {
    insta::assert_snapshot!(listed(SAMPLE, Some(80)), @r###"
    KEY             CALL                   MODEL           IN  OUT  STATUS  ASKS
    25fe84f01b4c    openai chat            gpt-4o-mini-…    8    3  200     hi
    25fe84f01b4c#2  openai chat            gpt-4o-mini-…    8    3  200     hi
    25ffe8160039    openai chat            gpt-4o-mini     12    9  200     weather?
    greet           anthropic messages     claude-sonne…  412   88  200     hi
    18ac3e7343f0    openai chat            gpt-4o-mini      -    -  429     fail
    3f79bb7b435b    openai chat            gpt-4o-mini      -    -  200     cut
    models          openai GET /v1/models  -                -    -  200     -
    summarize       -                      gpt-4o          40    2  -       -
    summarize#2     -                      -                -    -  -       -
    flaky           -                      -                -    -  -       -
    no room for SESSION, TIME, COST, MODE, END; a wider terminal or --json has it

    10 calls under 8 keys · 480 tokens in, 105 out · ≥ $0.002773 · identity: ignores /user
    "###);
    for width in [20, 60, 70, 80, 100, 120, 150, 400] {
        let listing = listed(SAMPLE, Some(width));
        let table = listing.lines().take_while(|line| !line.is_empty());
        let widest = table.filter(|line| !line.starts_with("no room")).map(|l| l.chars().count());
        assert!(widest.max().unwrap() <= width.max(77), "{width}: {listing}");
    }
    assert_eq!(listed(SAMPLE, Some(400)), listed(SAMPLE, None));
}

#[test]
fn a_recording_without_entries_says_so() {
    let empty = r#"{"_version": 2}"#;
    assert_eq!(listed(empty, None), "run.json: an empty recording, no call was kept\n");
    assert_eq!(json_of(empty), "[]\n");
}

#[test]
fn json_has_the_same_names_for_every_take() {
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&json_of(SAMPLE)).unwrap();
    let names: Vec<&String> = rows[0].keys().collect();
    assert!(rows.iter().all(|row| row.keys().collect::<Vec<_>>() == names));
    insta::assert_snapshot!(format!("{:#}", Value::Object(rows[2].clone())), @r###"
    {
      "key": "25ffe8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
      "step_id": null,
      "request_hash": "25ffe8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
      "take": 1,
      "takes": 1,
      "provider": "openai",
      "upstream": "openai",
      "operation": "chat",
      "rpc": null,
      "method": "POST",
      "path": "/v1/chat/completions",
      "model": "gpt-4o-mini",
      "input_tokens": 12,
      "output_tokens": 9,
      "cost_usd": 7.2e-6,
      "streamed": true,
      "chunks": 5,
      "bytes": 698,
      "status": 200,
      "latency_ms": 1402.3,
      "finish_reason": "tool_calls",
      "end": "complete",
      "cut": null,
      "answer": "complete",
      "answer_reason": null,
      "client_left": null,
      "fault": null,
      "session": "agent-7",
      "asks": "weather?",
      "recorded_at": "2026-11-21T22:47:02.818000Z",
      "personal_values": []
    }
    "###);
    let plain = &rows[8];
    assert_eq!(plain["key"], "summarize#2");
    for absent in ["provider", "input_tokens", "cost_usd", "streamed", "status", "end", "fault"] {
        assert_eq!(plain[absent], Value::Null, "{absent}");
    }
    assert_eq!(rows[9]["fault"], "timeout");
    assert_eq!((&rows[5]["end"], &rows[5]["cut"]), (&"upstream_abort".into(), &"reset".into()));
}

#[test]
fn hostile_names_cannot_reach_the_terminal() {
    let text = r#"{"a\u001b]0;x\u0007\nb": {"content": "", "model": "\u009b31m\u202e"}}"#;
    let (recording, pricing) = (parsed(text), PriceSource::built_in());
    let mut listing = Vec::new();
    TakeListing { recording: &recording, pricing: &pricing, held: HELD, question: QUESTION }
        .write(&at("x"), Some(80), &mut listing)
        .unwrap();
    let listing = String::from_utf8(listing).unwrap();
    let stripped = anstream::adapter::strip_str(&listing).to_string();
    assert!(stripped.contains("a\\u{1b}]0;x\\u{7}\\nb"), "{listing}");
    assert!(!listing.contains(['\u{9b}', '\u{7}', '\u{202e}']), "{listing}");
    assert!(!json_of(text).contains(['\u{9b}', '\u{202e}']));
}
