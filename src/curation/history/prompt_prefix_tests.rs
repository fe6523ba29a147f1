use serde_json::{Value, json};

use super::*;

fn entry(body: &Value) -> Entry {
    let request = json!({"method": "POST", "path": "/v1/messages", "headers": {}, "body": body});
    Entry::parse(&json!({"content": "", "upstream": "anthropic", "request": request})).unwrap()
}

fn prefix(body: &Value) -> PromptPrefix {
    PromptPrefix::of_entry(&entry(body)).unwrap()
}

/// Returns the place and the words of the first change.
fn change(earlier: &Value, now: &Value) -> Option<(PrefixChange, PrefixChangeWords)> {
    let change = prefix(now).first_change(&prefix(earlier), false)?;
    let (earlier, now) = (earlier.to_string(), now.to_string());
    let words = PrefixChangeWords::of_bodies(change, earlier.as_bytes(), now.as_bytes());
    Some((change, words.unwrap()))
}

fn body(tools: &[&str], system: &str, messages: &[&str]) -> Value {
    let messages: Vec<Value> = messages
        .iter()
        .enumerate()
        .map(|(at, text)| (["user", "assistant"][at % 2], text))
        .map(|(role, text)| json!({"role": role, "content": text}))
        .collect();
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    json!({"model": "m", "tools": tools, "system": system, "messages": messages})
}

#[test]
fn a_longer_conversation_begins_with_the_earlier_one() {
    let earlier = body(&["a"], "Be kind.", &["hi"]);
    let mut now = body(&["a"], "Be kind.", &["hi", "Hello", "And now?"]);
    assert_eq!(change(&earlier, &now), None);
    // A mark for the cache is no change.
    now["messages"][0]["content"] =
        json!([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(change(&earlier, &now), None);
}

#[test]
fn the_first_change_is_named_in_the_order_of_the_cache() {
    let earlier = body(&["a", "b"], "Today is 2026-11-28. Be kind.", &["hi", "Hello", "So?"]);
    let found = |tools: &[&str], system: &str, messages: &[&str]| {
        let (change, words) = change(&earlier, &body(tools, system, messages)).unwrap();
        (change.part, words.place, change.is_last, words.is_alike)
    };
    let (same, messages) = ("Today is 2026-11-28. Be kind.", ["hi", "Hello", "So?", "Yes", "Go"]);
    let other = "Today is 2026-11-29. Be kind.";
    assert_eq!(
        found(&["a", "c"], other, &messages),
        (PromptPart::Tool, "/tools/1".into(), false, true)
    );
    assert_eq!(found(&["a"], same, &messages).1, "/tools/1");
    assert_eq!(found(&["a", "b", "c"], same, &messages).1, "/tools/2");
    assert_eq!(
        found(&["a", "b"], other, &messages),
        (PromptPart::System, "/system".into(), false, true)
    );
    assert!(!found(&["a", "b"], "Make a title.", &messages).3);
    let middle = found(&["a", "b"], same, &["hi", "Hullo", "So?", "Yes"]);
    assert_eq!(middle, (PromptPart::Message, "/messages/1".into(), false, true));
    let last = found(&["a", "b"], same, &["hi", "Hello", "Why?", "Yes"]);
    assert_eq!((last.1.as_str(), last.2), ("/messages/2", true));
}

#[test]
fn the_words_around_a_change_are_short() {
    let system = |day: &str| format!("{}Today is {day}. {}", "x".repeat(100), "y".repeat(100));
    let earlier = body(&[], &system("Monday"), &["hi"]);
    let (_, words) = change(&earlier, &body(&[], &system("Friday"), &["hi"])).unwrap();
    assert_eq!(words.before, format!("…{}Today is Monday. {}…", "x".repeat(21), "y".repeat(42)));
    assert_eq!(words.now, format!("…{}Today is Friday. {}…", "x".repeat(21), "y".repeat(42)));
}

#[test]
fn a_helper_with_another_prompt_and_no_tools_shares_no_cache() {
    let agent = prefix(&body(&["a"], "Be kind.", &["hi"]));
    let helper = prefix(&body(&[], "Make a title.", &["hi"]));
    assert!(!helper.may_share_cache(&agent));
    assert!(prefix(&body(&["a"], "Be rude.", &["hi"])).may_share_cache(&agent));
    let mut other = body(&["a"], "Be kind.", &["hi"]);
    other["model"] = json!("n");
    assert!(!prefix(&other).may_share_cache(&agent));
}

#[test]
fn the_system_prompt_among_the_messages_and_the_tools_of_bedrock_are_found() {
    let chat = |system: &str| {
        json!({"model": "m", "messages": [{"role": "system", "content": system},
            {"role": "user", "content": "hi"}]})
    };
    let (found, words) = change(&chat("Be kind."), &chat("Be rude.")).unwrap();
    assert_eq!((found.part, words.place.as_str()), (PromptPart::System, "/messages/0"));
    assert_eq!((words.before.as_str(), words.now.as_str()), ("Be kind.", "Be rude."));
    let converse = |tool: &str| {
        json!({"toolConfig": {"tools": [{"toolSpec": {"name": tool}}]},
            "messages": [{"role": "user", "content": [{"text": "hi"}]}]})
    };
    assert_eq!(change(&converse("a"), &converse("b")).unwrap().1.place, "/toolConfig/tools/0");
}
