use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use loomrec_identity::IdentityRules;
use loomrec_recording::{Chunk, Entry, EntryName, format};

/// Looks like a provider's key. It is put together, so that no scanner of sources finds it.
fn secret() -> String {
    ["sk-", "proj-", "Zq3vT9xLw2Rk8mNb5cHs7dJf4gPa6yUe1oIt0lXz"].concat()
}

fn checker() -> EntryChecker {
    EntryChecker::new(Some(IdentityRules::default())).unwrap()
}

/// Returns a streamed entry as a recorder writes it, with a prompt and an answer.
fn entry(prompt: &str, answer: &str) -> (EntryName, Entry) {
    let event = |delta: Value, end: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "m-1", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let events = [
        event(json!({"role": "assistant", "content": answer}), Value::Null),
        event(json!({}), json!("stop")),
        "data: [DONE]\n\n".to_owned(),
    ];
    let chunks: Vec<Value> =
        events.iter().enumerate().map(|(at, event)| json!([at as f64, event])).collect();
    let value = json!({
        "content": answer, "model": "m-1", "cost_usd": 0.0, "latency_ms": 3.0,
        "finish_reason": "stop", "provider": "openai", "upstream": "openai",
        "request": {"method": "POST", "path": "/v1/chat/completions",
            "headers": {"content-type": "application/json"},
            "body": {"model": "m", "stream": true,
                "messages": [{"role": "user", "content": prompt}]}},
        "response": {"status": 200, "headers": {"content-type": "text/event-stream"},
            "end": "complete", "chunks": chunks},
    });
    let mut entry = Entry::parse(&value).unwrap();
    let (_, key) = entry.request.as_ref().unwrap().recognise_with_key(&IdentityRules::default());
    entry.request_hash = Some(key.clone());
    (EntryName::Hash(key), entry)
}

fn checked(name: &EntryName, entry: &Entry) -> CheckedEntry {
    let mut text = Vec::new();
    format::write_entry(&mut text, entry, false);
    check_text(name, &text)
}

fn check_text(name: &EntryName, text: &[u8]) -> CheckedEntry {
    let range = 0..text.len() as u64;
    let unit = EntryPlace { name: name.clone(), take: 1, at: 0, line: 1, range, in_list: false };
    check_entry(&unit, text, &checker())
}

fn kinds(checked: &CheckedEntry) -> Vec<&'static str> {
    checked.problems.iter().map(|problem| problem.kind.as_str()).collect()
}

#[test]
fn a_recorded_entry_has_nothing_wrong_and_nothing_to_mend() {
    let (name, entry) = entry("hi", "Hello.");
    let checked = checked(&name, &entry);
    assert_eq!(checked.problems, []);
    assert!(checked.readable && checked.spelt);
    assert_eq!(mend_entry(&name, &entry, &checker(), true), None);
}

#[test]
fn each_field_of_the_summary_is_held_against_the_answer() {
    let (name, right) = entry("hi", "Hello.");
    type Edit = fn(&mut Entry);
    let edits: [(&str, Edit); 4] = [
        ("/content", |entry| entry.content = Some("Bye.".into())),
        ("/model", |entry| entry.model = None),
        ("/finish_reason", |entry| entry.finish_reason = Some("length".into())),
        ("/tool_calls", |entry| {
            let call = json!({"tool_calls": [{"id": "1", "name": "f", "arguments": {}}]});
            entry.tool_calls = Entry::parse(&call).unwrap().tool_calls;
        }),
    ];
    for (pointer, edit) in edits {
        let mut wrong = right.clone();
        edit(&mut wrong);
        let problems = checked(&name, &wrong).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            (problems[0].kind, problems[0].pointer.as_str()),
            (ProblemKind::Answer, pointer)
        );
        assert_eq!(mend_entry(&name, &wrong, &checker(), false).unwrap().entry, right);
    }
}

#[test]
fn an_end_that_is_missing_is_told_and_one_that_is_there_is_not() {
    let (name, mut entry) = entry("hi", "Hello.");
    let chunks = entry.response.as_mut().unwrap().payload.chunks_mut();
    chunks.pop();
    // The stream has a finish reason, but not its last event.
    let cut: Vec<_> = chunks.drain(1..).collect();
    entry.finish_reason = None;
    assert_eq!(kinds(&checked(&name, &entry)), ["end"]);
    let mut failed = entry.clone();
    let error = "event: error\ndata: {\"error\": {\"message\": \"x\"}}\n\n";
    failed
        .response
        .as_mut()
        .unwrap()
        .payload
        .chunks_mut()
        .push(Chunk { at_ms: 9.0, data: error.into() });
    // A failure may be meant, so it is only a note.
    let problems = checked(&name, &failed).problems;
    assert_eq!(kinds(&checked(&name, &failed)), ["failed"]);
    assert_eq!(problems[0].severity, Severity::Note);
    entry.response.as_mut().unwrap().payload.chunks_mut().extend(cut);
    entry.finish_reason = Some("stop".into());
    assert!(!kinds(&checked(&name, &entry)).contains(&"answer"));
    entry.response.as_mut().unwrap().payload.chunks_mut()[0].at_ms = 9.0;
    assert!(kinds(&checked(&name, &entry)).contains(&"time"));
}

#[test]
fn credentials_are_told_by_their_place_in_each_part_and_taken_out() {
    let secret = secret();
    let (name, mut dirty) = entry(&format!("use {secret} now"), &format!("no {secret}"));
    dirty.response.as_mut().unwrap().headers.push(("x-echo".into(), secret.clone()));
    let problems = checked(&name, &dirty).problems;
    let places: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    for place in [
        "/request/body/messages/0/content",
        "/content",
        "/response/headers/x-echo",
        "/response/chunks/0/1",
    ] {
        assert!(places.contains(&place), "{place} not in {places:?}");
    }
    assert!(!format!("{problems:?}").contains(&secret[..9]));
    let mended = mend_entry(&name, &dirty, &checker(), false).unwrap();
    assert!(!String::from_utf8(mended.entry.to_text()).unwrap().contains(&secret));
    assert_ne!(mended.name, name);
    assert_eq!(checked(&mended.name, &mended.entry).problems, []);
}

#[test]
fn a_hash_is_mended_only_where_two_of_three_agree() {
    let (name, right) = entry("hi", "Hello.");
    let (other, another) = entry("another", "Hello.");
    let mut wrong = right.clone();
    wrong.request_hash = another.request_hash.clone();
    // The key and the request agree.
    assert_eq!(kinds(&checked(&name, &wrong)), ["hash"]);
    assert_eq!(mend_entry(&name, &wrong, &checker(), false).unwrap().entry, right);
    // The hash and the request agree.
    assert_eq!(kinds(&checked(&other, &right)), ["key"]);
    assert_eq!(mend_entry(&other, &right, &checker(), false).unwrap().name, name);
    // The request agrees with neither.
    assert_eq!(kinds(&checked(&other, &wrong)), ["hash"]);
    assert_eq!(mend_entry(&other, &wrong, &checker(), false), None);
    let mended = mend_entry(&other, &wrong, &checker(), true).unwrap();
    assert_eq!((mended.name, mended.entry), (name, right));
}

#[test]
fn a_misspelt_field_is_told_with_the_one_that_is_meant() {
    let (name, _) = EntryName::of_key(&"ab".repeat(32));
    let text = "{\n\"content\": \"\",\n\"finsh_reason\": \"stop\",\n\"response\": {\"status\": 200,\n \"headrs\": {}}}";
    let problems = check_text(&name, text.as_bytes()).problems;
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{:?} {} {}", problem.line, problem.pointer, problem.text))
        .collect();
    assert_eq!(
        told,
        [
            "Some(2) /finsh_reason the field `finsh_reason` is not known (is `finish_reason` meant?)",
            "Some(4) /response/headrs the field `headrs` is not known (is `headers` meant?)",
        ]
    );
}

#[test]
fn chaos_of_an_entry_is_known_and_read_as_its_fault_is() {
    let (name, mut entry) = entry("hi", "Hello.");
    let mut told = |chaos: Value| {
        entry.extra.insert("chaos".to_owned(), chaos);
        let problems = checked(&name, &entry).problems;
        problems.into_iter().map(|it| (it.kind, it.severity, it.pointer)).collect::<Vec<_>>()
    };
    let fault = |severity, place: &str| vec![(ProblemKind::Fault, severity, place.to_owned())];
    assert_eq!(told(json!({ "dropRate": 0.5 })), fault(Severity::Note, "/chaos"));
    assert_eq!(told(json!({ "dropRate": 2 })), fault(Severity::Error, "/chaos/dropRate"));
    assert_eq!(told(json!([])), fault(Severity::Error, "/chaos"));
}

#[test]
fn status_under_which_the_answer_is_not_sent_is_told() {
    let (name, right) = entry("hi", "Hello.");
    let places = |status: u16| -> Vec<String> {
        let mut entry = right.clone();
        entry.response.as_mut().unwrap().status = status;
        let problems = checked(&name, &entry).problems.into_iter();
        problems.filter(|it| it.kind == ProblemKind::End).map(|it| it.pointer).collect()
    };
    assert_eq!([101, 204, 304].map(places), [["/response/status"]; 3]);
    assert_eq!(places(200), [""; 0]);
}

#[test]
fn credential_in_a_compressed_request_is_told_and_taken_out() {
    let (_, mut entry) = entry(&format!("my key is {}", secret()), "hello");
    let request = entry.request.as_mut().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&request.body).unwrap();
    request.packed = Some(encoder.finish().unwrap().into());
    let (_, key) = request.recognise_with_key(&IdentityRules::default());
    entry.request_hash = Some(key.clone());
    let name = EntryName::Hash(key);
    let found = checked(&name, &entry);
    let secrets = found.problems.iter().filter(|problem| problem.kind == ProblemKind::Secret);
    let places: Vec<&str> = secrets.map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(places, ["/request/base64"]);
    let mended = mend_entry(&name, &entry, &checker(), true).unwrap();
    assert_eq!(kinds(&checked(&mended.name, &mended.entry)), Vec::<&str>::new());
}

#[test]
fn images_signatures_and_vectors_are_no_credentials() {
    let chance = "q7Zt2LmX9aRf4KpW8sVd1NcY6hBj3Gu5";
    let (name, mut entry) = entry("hi", "Hello.");
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", chance.repeat(50))}},
            {"type": "image", "source": {"type": "base64", "data": chance}},
            {"type": "thinking", "thinking": "hm", "signature": chance},
        ]},
        {"role": "tool", "tool_call_id": format!("call_{chance}"), "content": "ok"},
    ]});
    entry.request.as_mut().unwrap().body = body.to_string().into();
    let name = mend_entry(&name, &entry, &checker(), true).map_or(name, |mended| {
        entry = mended.entry;
        mended.name
    });
    assert_eq!(checked(&name, &entry).problems, []);
}

proptest! {
    #[test]
    fn what_is_mended_is_not_told_again(
        prompt in "[a-z \"\\\\\n]{0,20}", dirty in any::<bool>(), leaks in any::<bool>(),
        edits in prop::collection::vec(0_usize..6, 0..4), rehash in any::<bool>(),
    ) {
        let secret = secret();
        let with = |text: &str, dirty| if dirty { format!("{text} {secret}") } else { text.to_owned() };
        let (mut name, mut wrong) = entry(&with(&prompt, dirty), &with("Hello.", leaks));
        for edit in edits {
            match edit {
                0 => wrong.content = Some("other".into()),
                1 => wrong.finish_reason = None,
                2 => wrong.request_hash = entry("x", "y").1.request_hash,
                3 => name = entry("z", "y").0,
                4 => name = EntryName::from_step_id("plan").unwrap(),
                _ => wrong.model = Some("other".into()),
            }
        }
        if let Some(mended) = mend_entry(&name, &wrong, &checker(), rehash) {
            let left = checked(&mended.name, &mended.entry);
            prop_assert!(left.problems.iter().all(|problem| !problem.mendable), "{left:?}");
            prop_assert_eq!(mend_entry(&mended.name, &mended.entry, &checker(), rehash), None);
        } else {
            prop_assert!(checked(&name, &wrong).problems.iter().all(|problem| !problem.mendable));
        }
    }

    #[test]
    fn hostile_texts_never_panic(text in any::<Vec<u8>>(), json in "[\\[\\]{}\":,0-9a-z\\\\]{0,60}") {
        let name = EntryName::from_step_id("a").unwrap();
        check_text(&name, &text);
        check_text(&name, json.as_bytes());
    }
}
