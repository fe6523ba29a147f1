use proptest::prelude::*;

use super::*;

fn why(text: &str) -> String {
    parse_script(text.as_bytes(), ScriptNotation::Json).unwrap_err().to_string()
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let why = why(text);
    for part in parts {
        assert!(why.contains(part), "{part:?} is not in: {why}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_was_expected() {
    refused(
        r#"[[], [{"text": "a"}, {"txt": "b"}]]"#,
        &["call 2, entry 2: ", "\"txt\"", "did you mean \"text\"?"],
    );
    refused(
        r#"[[{"text": 5}]]"#,
        &["call 1, entry 1: text: expected a string, not 5 (a text needs quotes)"],
    );
    refused(r#"[[{"type": "tool-call", "name": "x"}]]"#, &["did you mean \"tool_call\"?"]);
    refused(
        r#"[[{"tool_call": {"name": "x", "argument": {}}}]]"#,
        &["\"argument\"", "did you mean \"arguments\"?"],
    );
    refused(r#"[[{"tool_call": {"id": "x"}}]]"#, &["tool_call: it needs name"]);
    refused(
        r#"[[{"tool_call": {"name": "x", "arguments": 5}}]]"#,
        &["tool_call.arguments", "not 5"],
    );
    refused(
        r#"[[{"tool_call_delta": {"id": "x", "arguments_delta": ""}}]]"#,
        &["no tool_call before it has the id \"x\""],
    );
    refused(r#"[[{"usage": {"prompt_token": 5}}]]"#, &["did you mean \"prompt_tokens\"?"]);
    refused(
        r#"[[{"usage": {"prompt_tokens": -5}}]]"#,
        &["usage.prompt_tokens: expected a count", "-5"],
    );
    refused(
        r#"[[{"usage": {"prompt_tokens": 5, "input_tokens": 5}}]]"#,
        &["give either prompt_tokens or input_tokens, not both"],
    );
    refused(
        r#"[[{"error": {"status": 200}}]]"#,
        &["error.status: expected one of an error", "200"],
    );
    refused(r#"[[{"error": {"message": 200}}]]"#, &["error.message: expected a string"]);
    refused(r#"[[{"delay": -1}]]"#, &["delay: expected milliseconds", "-1"]);
    refused(r#"[[{"delay": "1s"}]]"#, &["delay: expected milliseconds", "\"1s\""]);
    refused(r#"[[{"raw_chunk": {"base64": "?"}}]]"#, &["raw_chunk.base64"]);
    refused(r#"[[{"text": "a", "finish": "stop"}]]"#, &["here text; move \"finish\""]);
    refused(r#"[[{}]]"#, &["it is empty", "an entry is one of text, tool_call"]);
    refused(r#"[["a"]]"#, &["expected an object, not a string"]);
    refused(r#"[[{"sleep": -1}]]"#, &["sleep: expected milliseconds", "-1"]);
    refused(r#"[[{"tool_call": {"name": "x", "raw_arguments": {}}}]]"#, &["raw_arguments", "text"]);
}

#[test]
fn a_reason_that_there_is_not_is_refused_with_those_there_are() {
    refused(
        r#"[[{"error": {"reason": "rate_limit"}}]]"#,
        &["error.reason: unknown reason \"rate_limit\"", "did you mean \"rate_limited\"?"],
    );
    refused(r#"[[{"preflight_error": "teapot"}]]"#, &["preflight_error: unknown reason"]);
    refused(r#"[[{"error_event": {"reason": 5}}]]"#, &["error_event.reason: expected a reason"]);
    refused(
        r#"[[{"stream_error": "rate_limited"}]]"#,
        &["stream_error: unknown reason", "cancelled"],
    );
    refused(
        r#"[[{"error": {"reason": "network_error", "status": 503}}]]"#,
        &["error.status: this reason ends in no answer"],
    );
    refused(r#"[[{"error": {"reason": "timeout", "provider": "x"}}]]"#, &["\"provider\""]);
    refused(r#"[[{"error": {"request_id": "a b"}}]]"#, &["error.request_id: expected 1 to 256"]);
    refused(r#"[[{"error": {"retry_after_ms": -1}}]]"#, &["error.retry_after_ms", "-1"]);
    refused(r#"{"script": [], "retry_until_call": 2, "retry_error": 5}"#, &["retry_error"]);
}

#[test]
fn the_fields_of_a_whole_answer_are_known() {
    refused(r#"[[{"ok": {"output": "x"}}]]"#, &["\"output\"", "did you mean \"output_text\"?"]);
    refused(r#"[[{"ok": {"tool_calls": [{"id": "x"}]}}]]"#, &["ok.tool_calls[0]: it needs name"]);
    refused(r#"[[{"ok": {"usage": {"tokens": 1}}}]]"#, &["ok.usage.tokens"]);
    refused(r#"[[{"ok": "text"}]]"#, &["ok: expected an answer"]);
    refused(r#"[[{"ok": {"text": "a"}}, {"texd": "b"}]]"#, &["call 1, entry 2"]);
}

#[test]
fn an_entry_may_be_a_list_as_tuples_are_in_json() {
    let read = |text: &str| parse_script(text.as_bytes(), ScriptNotation::Json).unwrap().calls;
    let tuples = read(
        r#"[[["text", "a"], ["delay", 5], ["tool_call", {"name": "f"}],
            ["error", "rate_limited", {"retry_after_ms": 5}], ["stream_error", "cancelled", []]]]"#,
    );
    let objects = read(
        r#"[[{"text": "a"}, {"delay": 5}, {"tool_call": {"name": "f"}},
            {"error": {"reason": "rate_limited", "retry_after_ms": 5}},
            {"stream_error": "cancelled"}]]"#,
    );
    assert_eq!(tuples, objects);
    refused(r#"[[["text"]]]"#, &["text: expected [\"text\", its value]"]);
    refused(r#"[[["txt", "a"]]]"#, &["unknown entry \"txt\"", "did you mean \"text\"?"]);
    refused(r#"[[["text", "a", "b"]]]"#, &["text: expected [\"text\", its value]"]);
    refused(r#"[[["error", "timeout", 5]]]"#, &["error: expected the error's fields", "not 5"]);
    refused(r#"[[[5, "a"]]]"#, &["begins with the entry's name"]);
    refused(r#"[[[]]]"#, &["begins with the entry's name"]);
}

#[test]
fn scripts_for_complete_calls_and_for_streams_stand_apart() {
    let layout = |text: &str| {
        let parts = parse_script(text.as_bytes(), ScriptNotation::Json).unwrap();
        (parts.calls.len(), parts.streams_from)
    };
    assert_eq!(layout(r#"{"script": [{"text": "a"}]}"#), (1, None));
    assert_eq!(layout(r#"{"script": []}"#), (1, None));
    assert_eq!(layout(r#"{"scripts": [[], []], "stream_script": [[], [], []]}"#), (5, Some(2)));
    assert_eq!(layout(r#"{"stream_script": [{"text": "a"}, {"text": "b"}]}"#), (1, Some(0)));
    assert_eq!(layout(r#"{"stream_script": [["text", "a"], ["finish", "stop"]]}"#), (1, Some(0)));
    assert_eq!(layout(r#"{"stream_script": []}"#), (1, Some(0)));
    refused(r#"{"script": [], "scripts": []}"#, &["give either script", "or scripts"]);
    refused(r#"{"script": [{"txt": "a"}]}"#, &["script, entry 1: "]);
    refused(r#"{"stream_script": [{"txt": "a"}]}"#, &["stream_script, entry 1: "]);
    refused(r#"{"stream_script": [[], [{"txt": "a"}]]}"#, &["stream_script, call 2, entry 1: "]);
    refused(r#"{"script": {}}"#, &["script: expected a list of entries"]);
    refused(r#"{"script": [], "request_id": ""}"#, &["request_id: expected 1 to 256"]);
}

#[test]
fn what_stands_behind_the_end_is_read_as_well() {
    refused(r#"[[{"finish": "stop"}, {"texd": "b"}]]"#, &["call 1, entry 2"]);
}

#[test]
fn the_whole_is_a_list_of_lists_or_an_object_with_one() {
    refused(
        r#"[{"text": "a"}]"#,
        &["call 1: expected a list of entries, not an object", "a list in a list"],
    );
    refused("5", &["expected a list of calls"]);
    refused("{}", &["expected scripts"]);
    refused(r#"{"scrip": []}"#, &["did you mean \"script\"?"]);
    refused(r#"{"scripts": {}}"#, &["scripts: expected a list of calls"]);
    refused(r#"{"scripts": [], "retry_until_call": 0}"#, &["retry_until_call", "1 or more"]);
    refused(r#"{"scripts": [], "retry_error": "x"}"#, &["needs retry_until_call"]);
    refused(r#"[[{"text": "a", "text": "b"}]]"#, &["not plain JSON"]);
    refused("[[", &["not plain JSON"]);
    assert!(
        parse_script(b"\xff", ScriptNotation::Json).is_err()
            && parse_script(b"\xff", ScriptNotation::Yaml).is_err()
    );
}

#[test]
fn yaml_reads_as_the_same_script() {
    let yaml = "
scripts:
  - - text: \"Hello, \"
    - type: text
      text: |
        world
    - delay: 1.5
    - tool_call: {id: c1, name: add, arguments: {a: 1}}
    - finish: stop
  - []
retry_until_call: 2
";
    let json = r#"{"scripts": [[{"text": "Hello, "}, {"text": "world\n"}, {"delay": 1.5},
        {"tool_call": {"id": "c1", "name": "add", "arguments": {"a": 1}}}, {"finish": "stop"}], []],
        "retry_until_call": 2}"#;
    let (yaml, json) = (
        parse_script(yaml.as_bytes(), ScriptNotation::Yaml),
        parse_script(json.as_bytes(), ScriptNotation::Json),
    );
    let (yaml, json) = (yaml.unwrap(), json.unwrap());
    assert_eq!(yaml.calls, json.calls);
    assert_eq!(yaml.retry.unwrap().until, 2);
}

#[test]
fn yaml_that_means_something_else_is_refused() {
    let why =
        |text: &str| parse_script(text.as_bytes(), ScriptNotation::Yaml).unwrap_err().to_string();
    assert!(
        why("- - text: 5").contains("call 1, entry 1: text: expected a string"),
        "{}",
        why("- - text: 5")
    );
    assert!(why("- - text: a\n    text: b").contains("not YAML"));
    assert!(why("- - text: [a").contains("not YAML"));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nscripts: []\n";
    assert!(!why(bomb).is_empty());
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,60}", entries in r#"[\[\]{}":, a-z\-\n0-9]{0,60}"#) {
        for text in [text, entries] {
            for notation in [ScriptNotation::Json, ScriptNotation::Yaml] {
                let _ = parse_script(text.as_bytes(), notation);
            }
        }
    }
}
