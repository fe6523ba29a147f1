use clap::{Args as _, FromArgMatches as _};
use serde_json::{Value, json};

use super::*;

fn args(words: &[&str]) -> JournalArgs {
    let words = [&["journal", "run.jsonl"], words].concat();
    let command = JournalArgs::augment_args(clap::Command::new("journal"));
    JournalArgs::from_arg_matches(&command.get_matches_from(words)).unwrap()
}

/// A line of a journal with these members.
pub(crate) fn call(more: &Value) -> JournalRow {
    let mut call = json!({
        "v": 1, "at": "2026-01-31T12:00:00.000001Z", "outcome": "served", "status": 200,
        "method": "POST", "path": "/v1/chat/completions", "upstream": "openai",
        "model": "gpt-4o", "session": "s", "total_ms": 10.0, "end": "complete", "source": "recording",
    });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    JournalRow::parse(call.to_string().as_bytes()).unwrap()
}

#[test]
fn calls_are_found_by_all_that_is_sought() {
    let finds = |words: &[&str], more: Value| {
        let args = args(words);
        RowFilter::new(&args).is_match(&call(&more))
    };
    let plain = json!({});
    let all = ["--model", "gpt-4o", "--upstream", "openai"];
    assert!(finds(&all, plain.clone()));
    for words in [["--model", "gpt"], ["--upstream", "x"]] {
        assert!(!finds(&words, plain.clone()), "{words:?}");
    }
    assert!(!finds(&["--failed"], plain.clone()));
    for failed in [
        json!({ "status": 422 }),
        json!({ "status": null }),
        json!({ "end": "client_left" }),
        json!({ "kept": false }),
    ] {
        assert!(finds(&["--failed"], failed.clone()), "{failed}");
    }
}

#[test]
fn what_became_of_a_fault_is_no_call() {
    let mark = br#"{"v":1,"outcome":"fired","fault":1,"by":null,"at_ms":0.5}"#;
    let args = args(&[]);
    assert!(!RowFilter::new(&args).is_match(&JournalRow::parse(mark).unwrap()));
    let faulted = br#"{"v":1,"outcome":"faulted","connection":1,"fault":{"type":"drop"}}"#;
    let line = JournalRow::parse(faulted).unwrap();
    assert!(RowFilter::new(&args).is_match(&line) && line.has_failed());
    assert!(
        line.format_row(None).contains("connection 1  · fault drop"),
        "{}",
        line.format_row(None)
    );
}

#[test]
fn rows_hold_nothing_that_a_terminal_would_act_on() {
    let row = call(&json!({ "model": "a\u{1b}[2Jb\nc", "path": "/\u{202e}" })).format_row(None);
    assert!(!row.contains(['\u{1b}', '\n', '\u{202e}']), "{row:?}");
    assert!(call(&json!({})).format_row(Some(40)).chars().count() <= 40);
}

#[test]
fn numbers_may_be_as_large_as_they_are() {
    let most = json!({ "input_tokens": u64::MAX, "output_tokens": u64::MAX, "total_ms": 1e308 });
    assert!(call(&most).format_row(None).contains(&format!("{0}+{0} tokens", u64::MAX)));
}

#[test]
fn lines_that_are_none_say_why() {
    for (text, told) in [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ("12", "not an object"),
        ("x", "not JSON"),
        ("{}", "no outcome"),
        ("{\"outcome\":1}", "invalid type: integer `1`, expected a string"),
        ("{\"outcome\":\"served\",\"status\":\"200\"}", "invalid type"),
        ("{\"outcome\":\"a\",\"outcome\":\"b\"}", "duplicate field `outcome`"),
        ("{\"outcome\":\"a\",\"v\":2}", "version 2"),
        (&format!("{{\"a\":{}", "[".repeat(100_000)), "not JSON"),
    ] {
        let why = JournalRow::parse(text.as_bytes()).unwrap_err();
        assert!(why.contains(told), "{why}");
    }
}
