use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::entry::Entry;
use super::super::entry_name::EntryName;
use super::super::json_style::tests::any_json;
use super::super::key_variables::KeyVariables;
use super::super::meta::RecordingMeta;
use super::*;
use loomrec_identity::{IdentityRules, JsonPointer, PlacePattern, RequestKey};

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn refused(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn file_is_written_for_people() {
    let rules = IdentityRules::new(vec![JsonPointer::parse("/metadata/run_id").unwrap()]);
    let mut cassette = RecordingDocument::new(RecordingMeta::new(&rules));
    let entry = Entry::parse(&json!({
        "content": "é", "latency_ms": 331.04,
        "request": {"method": "POST", "path": "/v1/x", "body": {"messages": [{"role": "user"}]}},
        "response": {"status": 200, "headers": {"a": "b"}, "chunks": [[312.44, "data: {}\n\n"], [331, {"base64": "/w=="}]]},
    })).unwrap();
    cassette.record_take(EntryName::from_step_id("plan").unwrap(), entry, true);
    let expected = r#"{
  "_version": 2,
  "_loomrec": {
    "format": "1.0",
    "identity": {
      "version": 1,
      "ignore": [
        "/metadata/run_id"
      ]
    }
  },
  "plan": {
    "content": "é",
    "latency_ms": 331.0,
    "request": {
      "method": "POST",
      "path": "/v1/x",
      "headers": {},
      "body": {
        "messages": [
          {
            "role": "user"
          }
        ]
      }
    },
    "response": {
      "status": 200,
      "headers": {
        "a": "b"
      },
      "end": "complete",
      "chunks": [
        [312.4, "data: {}\n\n"],
        [331.0, {"base64": "/w=="}]
      ]
    }
  }
}
"#;
    let text = write_document(&cassette);
    assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
    let back = parse(&text).unwrap();
    assert_eq!(back.meta().rules(), &rules);
    assert_eq!(write_document(&back), text);
}

#[test]
fn star_in_a_rule_is_a_pattern_from_identity_version_3_on_and_a_key_before() {
    let read = |identity: Value| {
        let text = json!({ "_loomrec": { "format": "1.0", "identity": identity } }).to_string();
        parse(text.as_bytes()).unwrap().meta().rules().clone()
    };
    let path = ["messages", "0", "id"];
    for old in [
        json!({ "ignore": ["/messages/*/id"] }),
        json!({ "version": 2, "ignore": ["/messages/*/id"] }),
    ] {
        let rules = read(old);
        assert!(!rules.is_ignored(&path) && rules.is_ignored(&["messages", "*", "id"]));
        assert_eq!(rules.rule_descriptions(), ["/messages/~2/id"]);
    }
    let rules = read(json!({ "version": 3, "ignore": ["/messages/*/id", "/user"] }));
    assert!(rules.is_ignored(&path) && rules.is_ignored(&["user"]));
    for (pattern, version) in [("/messages/*/id", 3), ("/a/~2", 3), ("/a/~02", 1)] {
        let rules = IdentityRules::new(vec![PlacePattern::parse(pattern).unwrap()]);
        let text = write_document(&RecordingDocument::new(RecordingMeta::new(&rules)));
        let written: Value = serde_json::from_slice(&text).unwrap();
        let identity = json!({ "version": version, "ignore": [pattern] });
        assert_eq!(written["_loomrec"]["identity"], identity);
        assert_eq!(parse(&text).unwrap().meta().rules(), &rules);
    }
}

#[test]
fn key_variables_are_stated_once_and_of_unknown_names_none_counts() {
    let known = |names: &[&str]| KeyVariables::known_among(names.iter().copied());
    let mut meta = RecordingMeta::default();
    meta.add_key_variables(&KeyVariables::default());
    assert_eq!(meta, RecordingMeta::default());
    meta.add_key_variables(&known(&["XAI_API_KEY", "GROQ_API_KEY"]));
    let text = write_document(&RecordingDocument::new(meta.clone()));
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(written["_loomrec"]["key_variables"], json!(["GROQ_API_KEY", "XAI_API_KEY"]));
    assert_eq!(parse(&text).unwrap().meta(), &meta);
    let text = json!({ "_loomrec": { "key_variables": ["PATH", "XAI_API_KEY", "NEW_API_KEY"] } });
    let mut read = parse(text.to_string().as_bytes()).unwrap().meta().clone();
    assert_eq!(read.key_variables(), &known(&["XAI_API_KEY"]));
    read.add_key_variables(&known(&["GROQ_API_KEY"]));
    let all = json!(["GROQ_API_KEY", "NEW_API_KEY", "PATH", "XAI_API_KEY"]);
    assert_eq!(read.top_level_keys()["_loomrec"]["key_variables"], all);
    for wrong in [json!("XAI_API_KEY"), json!([1]), json!(vec!["XAI_API_KEY"; 257])] {
        let said = refused(&json!({ "_loomrec": { "key_variables": wrong } }).to_string());
        assert!(said.contains("/_loomrec/key_variables"), "{said}");
    }
    // A file of another tool states none.
    let mut other = parse(b"{}").unwrap().meta().clone();
    other.add_key_variables(&known(&["XAI_API_KEY"]));
    assert!(other.key_variables().is_empty() && other.top_level_keys().is_empty());
}

#[test]
fn files_that_agentloom_writes_are_accepted() {
    let text = format!(
        r#"{{"_note": [1], "plan": {{"content": "h\u00e9"}}, "turns": [{{"content": "1"}}, {{"content": "2"}}], "{HASH}": {{}}}}"#
    );
    for version in ["", r#""_version": 2,"#, r#""_version": null,"#, r#""_version": 3,"#] {
        let text = text.replacen('{', &format!("{{{version}"), 1);
        let cassette = parse(text.as_bytes()).unwrap();
        assert!(!cassette.is_loomrec());
        assert_eq!(cassette.len(), 4);
        assert_eq!(cassette.meta().top_level_keys()["_note"], json!([1]));
    }
}

#[test]
fn takes_of_a_hash_are_ordered_by_number_and_gaps_are_fine() {
    let text = format!(
        r##"{{"{HASH}#3": {{"content": "3"}}, "a": {{}}, "{HASH}": {{"content": "1"}}, "{HASH}#10": {{"content": "10"}}}}"##
    );
    let cassette = parse(text.as_bytes()).unwrap();
    let name = EntryName::Hash(RequestKey::parse(HASH).unwrap());
    let contents: Vec<_> =
        cassette.takes(&name).iter().map(|take| take.content.clone().unwrap()).collect();
    assert_eq!(contents, ["1", "3", "10"]);
    assert_eq!(cassette.names().map(|(name, _)| name.to_string()).collect::<Vec<_>>(), [HASH, "a"]);
}

#[test]
fn unusable_files_are_refused_with_place_and_remedy() {
    let deep = format!(r#"{{"a": {{"x": {}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
    for (text, part) in [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("\u{feff}{}", "byte-order mark"),
        ("[]", "the file holds an array"),
        ("42", "the file holds a number"),
        ("not json", "it is not a recording: it begins with \"not json\"; name a recording"),
        ("{\"a\": {\n\"content\": \"x", "line 2, column 13: EOF"),
        ("{\"a\": {},\n\"b\": {\"c\": tru}}", "line 2, column"),
        ("{\"a\": }", "line 1, column"),
        ("{\"a\": {}} x", "line 1, column"),
        ("{\"a\": {},}", "line 1, column"),
        (r#"{"a": {"c": "\ud800"}}"#, "line 1, column"),
        (&deep, "recursion limit"),
        (r#"{"_version": 1}"#, "`_version` is 1"),
        (r#"{"_version": -2}"#, "`_version` is -2"),
        (r#"{"_version": 2.0}"#, "/_version must be"),
        (r#"{"_version": "2"}"#, "/_version must be"),
        (r#"{"_version": true}"#, "/_version must be"),
        (r#"{"_loomrec": {"format": "2.0"}}"#, "format 2.0, which a newer loomrec wrote"),
        (r#"{"_loomrec": {"identity": {"version": 4}}}"#, "identity version 4"),
        (r#"{"_loomrec": {"identity": {"version": "1"}}}"#, "/_loomrec/identity/version"),
        (r#"{"_loomrec": {"identity": {"ignore": ["x"]}}}"#, "/_loomrec/identity/ignore"),
        (r#"{"_loomrec": 1}"#, "/_loomrec must be an object"),
        ("{\"a\": {},\n\"\\u0061\": {}}", "line 2: the key \"a\""),
        ("{\n\"a\": 1}", "line 2: \"a\" is a number"),
        (r#"{"a": null}"#, "\"a\" is null"),
        (r#"{"a": [{}, 1]}"#, "a list with a number in it"),
        (
            "{\n\"a\": [{}, {\"cost_usd\": []}]}",
            "line 2: in \"a\", take 2, /cost_usd must be a number",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    for key in [HASH.to_owned(), format!("{HASH}#2")] {
        assert!(refused(&format!(r#"{{"{key}": [{{}}]}}"#)).contains("is a list"));
    }
    assert!(matches!(
        parse(b"{\"a\": \"\xff\"}"),
        Err(FormatError::Json { line: 1, column: 8, .. })
    ));
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let body = prop_oneof![
        Just(json!({})),
        any_json().prop_map(|body| json!({ "body": body })),
        any::<String>().prop_map(|text| json!({ "text": text })),
        prop::collection::vec((0_u32..9999, any::<String>()), 1..4)
            .prop_map(|rows| json!({"chunks": rows.iter().map(|(ms, text)| json!([f64::from(*ms) / 10.0, text])).collect::<Vec<_>>()})),
    ];
    (any::<Option<String>>(), body, prop::option::of("t[0-9]"), any_json()).prop_map(
        |(content, body, at, extra)| {
            let mut response = Map::from_iter([("status".to_owned(), json!(200))]);
            response.extend(body.as_object().cloned().unwrap());
            let value =
                json!({"content": content, "recorded_at": at, "response": response, "zz": extra});
            Entry::parse(&value).unwrap()
        },
    )
}

fn any_name() -> impl Strategy<Value = EntryName> {
    prop_oneof![
        "[a-e#é]{1,2}".prop_map(|id| EntryName::from_step_id(&id).unwrap()),
        "[ab]".prop_map(|c| EntryName::Hash(RequestKey::parse(&c.repeat(64)).unwrap())),
    ]
}

proptest! {
    #[test]
    fn text_of_any_cassette_reads_back_and_writes_the_same(entries in prop::collection::vec((any_name(), any_entry(), any::<bool>()), 0..8)) {
        let mut cassette = RecordingDocument::default();
        for (name, entry, first) in entries {
            cassette.record_take(name, entry, first);
        }
        let text = write_document(&cassette);
        let back = parse(&text).unwrap();
        prop_assert_eq!(String::from_utf8(write_document(&back)).unwrap(), String::from_utf8(text.clone()).unwrap());
        prop_assert_eq!(back.len(), cassette.len());
        // Python's reader, and therefore AgentLoom, sees the same values.
        let value: Value = serde_json::from_slice(&text).unwrap();
        prop_assert!(value.is_object());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn cut_or_changed_recordings_never_make_it_panic(entry in any_entry(), cut in 0_usize..2000, byte: u8) {
        let mut cassette = RecordingDocument::default();
        cassette.record_take(EntryName::from_step_id("a").unwrap(), entry, true);
        let mut text = write_document(&cassette);
        let at = cut % text.len();
        prop_assert!(at == text.len() - 1 || parse(&text[..at]).is_err());
        text[at] = byte;
        let _ = parse(&text);
    }
}
