use super::contents::tests::recording as parsed;
use super::*;

fn at(path: &str) -> RecordingLocation {
    std::path::PathBuf::from(path).into()
}

/// A recording with a bit of everything, including plain AgentLoom entries.
const SAMPLE: &str = include_str!("sample.json");

fn shown(key: &str) -> String {
    let recording = parsed(SAMPLE);
    let (row, earlier) = pick_take(&at("run.json"), &recording, Some(key), false).unwrap();
    anstream::adapter::strip_str(&page::format_take(
        &row,
        &outside_key(&row, recording.meta().rules()),
        earlier.as_ref(),
        Some(100),
    ))
    .to_string()
}

fn refused(text: &str, key: Option<&str>) -> (u8, String) {
    let recording = parsed(text);
    let failure = pick_take(&at("run.json"), &recording, key, false).err().unwrap();
    (failure.code, failure.message)
}

#[test]
fn a_complete_answer_is_shown_in_full() {
    insta::assert_snapshot!(shown("greet"), @r###"
    greet
      take       1 of 1
      provider   anthropic
      upstream   anthropic
      operation  Messages
      model      claude-sonnet-4-20250514
      recorded   2026-11-21T22:47:03.818000Z
      request    2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6

    Request
      POST /v1/messages?beta=true
      content-type: application/json

      {
        "model": "claude-sonnet-4-20250514",
        "max_tokens": 64,
        "messages": [
          {
            "role": "user",
            "content": "hi"
          }
        ]
      }

    Answer
      Bonjour.
      Ça va ?
      finish     end_turn
      tokens     412 in, 88 out, 500 in all
      cost       $0.002640
      time       61.84 s

    Response
      200 OK
      content-type: application/json

      {
        "type": "message",
        "content": [
          {
            "type": "text",
            "text": "Bonjour.\nÇa va ?"
          }
        ]
      }

    Timeline
              ms       +ms    bytes  chunk
         61843.2  +61843.2       74  {"type":"message","con…{"type":"text","text":"Bonjour.\nÇa va ?"}]}
      1 chunk, 74 bytes; end: complete
    "###);
}

#[test]
fn a_stream_is_shown_with_its_timeline() {
    insta::assert_snapshot!(shown("25ff"), @r###"
    25ffe8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d
      take       1 of 1
      provider   openai
      upstream   openai
      operation  Chat Completions
      model      gpt-4o-mini
      session    agent-7
      recorded   2026-11-21T22:47:02.818000Z

    Request
      POST /v1/chat/completions
      content-type: application/json

      {
        "model": "gpt-4o-mini",
        "messages": [
          {
            "role": "user",
            "content": "weather?"
          }
        ],
        "stream": true
      }

    Answer
      It rains
      calls get_weather (call_1)
        {
          "city": "Paris"
        }
      finish     tool_calls
      tokens     12 in (4 from cache), 9 out, 21 in all
      cost       $0.000007
      time       1.40 s

    Response
      200 OK
      content-type: text/event-stream

    Timeline
              ms       +ms    bytes  chunk
           312.4    +312.4      163  data: {"id":"c","objec…"content":"It "},"finish_reason":null}]}\n\n
           331.0     +18.6      146  data: {"id":"c","objec…ontent":"rains"},"finish_reason":null}]}\n\n
           331.9      +0.9      238  data: {"id":"c","objec…:\"Paris\"}"}}]},"finish_reason":null}]}\n\n
          1402.2   +1070.3      137  data: {"id":"c","objec…elta":{},"finish_reason":"tool_calls"}]}\n\n
          1402.3      +0.0       14  data: [DONE]\n\n
      5 chunks, 698 bytes; end: complete
    "###);
}

#[test]
fn a_cut_stream_says_how_it_was_cut() {
    let text = shown("3f79");
    assert!(text.ends_with("1 chunk, 144 bytes; end: upstream_abort reset: the upstream reset the connection; replay does the same\n"), "{text}");
}

#[test]
fn an_error_is_shown_with_its_body() {
    insta::assert_snapshot!(shown("18ac"), @r###"
    18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4
      take       1 of 1
      provider   openai
      upstream   openai
      operation  Chat Completions
      model      gpt-4o-mini
      recorded   2026-11-21T22:47:04.818000Z

    Request
      POST /v1/chat/completions
      content-type: application/json

      {
        "model": "gpt-4o-mini",
        "messages": [
          {
            "role": "user",
            "content": "fail"
          }
        ]
      }

    Answer
      (no text)
      outcome    failed: status 429: slow down
      time       9.0 ms

    Response
      429 Too Many Requests
      content-type: application/json
      retry-after: 1

      {
        "error": {
          "message": "slow down"
        }
      }

    Timeline
              ms       +ms    bytes  chunk
             9.0      +9.0       33  {"error":{"message":"slow down"}}
      1 chunk, 33 bytes; end: complete
    "###);
}

#[test]
fn a_plain_entry_says_that_nothing_more_is_recorded() {
    insta::assert_snapshot!(shown("summarize"), @r###"
    summarize
      take       1 of 2
      model      gpt-4o

    Answer
      Short.
      tokens     40 in, 2 out, 42 in all
      cost       $0.000120

    Response
      not recorded: generated from the answer above, as AgentLoom does
    "###);
}

#[test]
fn a_fault_is_shown_in_the_place_of_the_response() {
    insta::assert_snapshot!(shown("flaky"), @r###"
    flaky
      take       1 of 1

    Answer
      (no text)

    Fault, served in place of the response
      {
        "type": "timeout",
        "after_ms": 50
      }
    "###);
}

#[test]
fn a_key_means_a_step_a_hash_a_prefix_or_a_take() {
    let recording = parsed(SAMPLE);
    let keys = |key: &str| {
        pick_take(&at("x"), &recording, Some(key), true).map(|(row, _)| row.take_key()).ok()
    };
    let hash = recording.entries().next().unwrap().unwrap().name.to_string();
    assert_eq!(keys("25fe"), Some(hash.clone()));
    assert_eq!(keys("25FE84"), Some(hash.clone()));
    assert_eq!(keys("25fe#2"), Some(format!("{hash}#2")));
    assert_eq!(keys(&format!("{hash}#2")), Some(format!("{hash}#2")));
    assert_eq!(keys(&hash.to_uppercase()), Some(hash));
    assert_eq!(keys("summarize#2"), Some("summarize#2".into()));
    assert_eq!(keys("2e7d"), Some("greet".into()), "the hash of a request under a step id");
    let only = parsed(r#"{"a#1": [{"content": "x"}, {"content": "y"}]}"#);
    let keys = |key| pick_take(&at("x"), &only, key, true).map(|(row, _)| row.take_key()).ok();
    assert_eq!(keys(None), Some("a#1".into()));
    assert_eq!(keys(Some("a#1")), Some("a#1".into()), "a step id may hold a #");
    assert_eq!(keys(Some("a#1#2")), Some("a#1#2".into()));
    assert_eq!(keys(Some("#2")), Some("a#1#2".into()));
}

#[test]
fn a_key_that_means_no_single_entry_is_refused_with_what_helps() {
    insta::assert_snapshot!(refused(SAMPLE, None).1, @r###"
    run.json holds 8 keys: say which one to show
      loomrec show run.json 25fe84f01b4c  # hi
      loomrec show run.json 25ffe8160039  # weather?
      loomrec show run.json greet         # hi
      loomrec show run.json 18ac3e7343f0  # fail
      loomrec show run.json 3f79bb7b435b  # cut
      loomrec show run.json models
      loomrec show run.json summarize
      loomrec show run.json flaky
    "###);
    assert_eq!(refused(SAMPLE, None).0, USAGE);
    insta::assert_snapshot!(refused(SAMPLE, Some("sumarize")).1, @r###"
    there is no "sumarize" in run.json; near it
      loomrec show run.json summarize
    "###);
    assert_eq!(refused(SAMPLE, Some("sumarize")).0, NO);
    insta::assert_snapshot!(refused(SAMPLE, Some("no-such-entry")).1, @r###"
    there is no "no-such-entry" in run.json
      loomrec ls run.json lists them
    "###);
    insta::assert_snapshot!(refused(SAMPLE, Some("25f")).1, @r###"
    there is no "25f" in run.json; near it
      loomrec show run.json 25fe84f01b4c  # hi
      loomrec show run.json 25ffe8160039  # weather?
    "###);
    insta::assert_snapshot!(refused(SAMPLE, Some("greet#2")).1, @r###"there is no greet#2 in run.json: there is 1 take of it"###);
    assert_eq!(refused(SAMPLE, Some("greet#0")).0, NO);
    assert_eq!(refused(SAMPLE, Some("summarize#99999999999999999999999")).0, NO);
    assert_eq!(refused("{}", None), (NO, "run.json is an empty recording: there is nothing to show\n  loomrec ls run.json lists them".into()));
}

#[test]
fn digits_that_several_hashes_begin_with_name_them() {
    let hash = |tail: char| format!("12345{}", tail.to_string().repeat(59));
    let text = format!(r#"{{"{}": {{}}, "{}": {{}}}}"#, hash('a'), hash('b'));
    insta::assert_snapshot!(refused(&text, Some("12345")).1, @r###"
    "12345" means 2 keys of run.json: add digits
      loomrec show run.json 12345aaaaaaa
      loomrec show run.json 12345bbbbbbb
    "###);
    assert_eq!(refused(&text, Some("12345")).0, USAGE);
}

#[test]
fn json_is_the_entry_as_in_the_file_with_its_place() {
    let recording = parsed(SAMPLE);
    let (row, _) = pick_take(&at("x"), &recording, Some("summarize#2"), true).unwrap();
    let text = super::entry_json(&row, &[]);
    let shown: Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!(
        { "key": "summarize#2", "take": 2, "takes": 2, "content": "Shorter." }
    );
    assert_eq!(shown, expected);
    let (row, _) = pick_take(&at("x"), &recording, Some("25ff"), true).unwrap();
    let shown: Value = serde_json::from_str(&super::entry_json(&row, &[])).unwrap();
    let file: Value = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!(shown["request"], file[row.take_key()]["request"]);
    assert_eq!(shown["response"]["chunks"][0], file[row.take_key()]["response"]["chunks"][0]);
}

#[test]
fn hundreds_of_chunks_are_folded_in_the_middle() {
    let chunk = |at: u32| loomrec_recording::Chunk {
        at_ms: f64::from(at),
        data: format!("data: {at}\n\n").into(),
    };
    let many: Vec<_> = (0..500).map(chunk).collect();
    let text =
        anstream::adapter::strip_str(&timeline::format_chunks(&many, None, None)).to_string();
    assert_eq!(text.lines().count(), 32);
    assert!(text.contains("… 470 more chunks, 5090 bytes …"), "{text}");
    assert!(text.contains("     490.0      +1.0       11  data: 490\\n\\n"), "{text}");
    assert_eq!(timeline::format_chunks(&many[..40], None, None).lines().count(), 41);
}

#[test]
fn chunks_that_are_no_text_are_shown_as_bytes() {
    let chunk = |data: &[u8]| loomrec_recording::Chunk { at_ms: 1.0, data: data.to_vec().into() };
    let audio: Vec<u8> = (128..=255).collect();
    let text = timeline::format_chunks(
        &[chunk(&audio), chunk("é".as_bytes()), chunk(&"é".as_bytes()[1..])],
        None,
        None,
    );
    assert!(text.contains("<80 81 82 83 84 85 86 87 88 89 8a 8b 8c 8d 8e 8f …>"), "{text}");
    assert!(text.contains("2  é\n") && text.contains("1  \u{fffd}\n"), "{text}");
}

#[test]
fn bodies_are_laid_out_only_where_nothing_is_lost() {
    assert_eq!(
        pretty::format_body(br#"{"a":[1,2.50,18446744073709551616],"b":{},"c":[{}]}"#),
        "{\n  \"a\": [1, 2.50, 18446744073709551616],\n  \"b\": {},\n  \"c\": [\n    {}\n  ]\n}"
    );
    assert_eq!(pretty::format_body(br#"{"a":1,"a":2}"#), r#"{"a":1,"a":2}"#);
    assert_eq!(pretty::format_body(b"\xff\xfe"), "(2 bytes that are not text)");
    assert_eq!(pretty::format_body(b""), "(no body)");
    let long = pretty::format_body(format!("\"{}\"", "x".repeat(5000)).as_bytes());
    assert!(long.ends_with("x… (3000 more characters)\""), "{}", &long[1990..]);
    let row = pretty::format_body(b"[1,2,3,4,5,6,7,8,9,10]");
    assert_eq!(row, "[1, 2, 3, 4, 5, 6, 7, 8, … (2 more)]");
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert!(pretty::format_body(deep.as_bytes()).contains("[[["));
    assert_eq!(pretty::format_body("\"\u{9b}\u{202e}\"".as_bytes()), "\"\\u009b\\u202e\"");
}
