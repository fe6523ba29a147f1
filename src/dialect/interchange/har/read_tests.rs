use std::ops::ControlFlow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::super::super::{ForeignFormat, ReadError, read as find, read_with};
use super::*;

fn found(text: &str) -> (Vec<FoundItem>, Result<(), ReadError>) {
    let mut items = Vec::new();
    let done = find(ForeignFormat::Har, &mut text.as_bytes(), &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done)
}

fn file(creator: &str, entries: &[Value]) -> String {
    let creator = json!({"name": creator, "version": "1"});
    json!({"log": {"version": "1.2", "creator": creator, "pages": [], "entries": entries}})
        .to_string()
}

/// Returns the exchange of a file's only entry, or the reason why it is left out.
fn only(creator: &str, entry: Value) -> Result<ForeignExchange, String> {
    let (mut items, done) = found(&file(creator, &[entry]));
    done.unwrap();
    assert_eq!(items.len(), 1);
    match items.remove(0) {
        FoundItem::Exchange(exchange) => Ok(*exchange),
        FoundItem::Left(left) => Err(format!("{}: {}", left.place, left.reason)),
        other => panic!("{other:?}"),
    }
}

fn entry() -> Value {
    json!({
        "startedDateTime": "2026-01-02T03:04:05.678+01:00",
        "time": 120.5,
        "request": {
            "method": "POST", "url": "https://api.openai.com/v1/x", "httpVersion": "h2",
            "headers": [{"name": ":authority", "value": "api.openai.com"}, {"name": "A", "value": "b"}],
            "queryString": [], "postData": {"mimeType": "application/json", "text": "{}"},
        },
        "response": {
            "status": 200, "statusText": "", "headers": [{"name": "content-type", "value": "text/event-stream"}],
            "content": {"size": 4, "mimeType": "text/event-stream", "text": "data"},
        },
        "timings": {"blocked": -1, "send": 1, "wait": 20, "receive": 99.5},
        "_priority": "High",
    })
}

fn content(exchange: &ForeignExchange) -> &[u8] {
    match &exchange.response.content {
        ResponseContent::Plain(bytes) | ResponseContent::Wire(bytes) => bytes,
        ResponseContent::Chunks(_) => panic!("it is in chunks"),
    }
}

#[test]
fn entry_is_found_with_its_times() {
    let exchange = only("Chrome", entry()).unwrap();
    assert_eq!(exchange.place, "entry 1");
    assert_eq!((exchange.first_ms, exchange.duration_ms), (Some(21.0), Some(120.5)));
    assert_eq!(exchange.started.as_deref(), Some("2026-01-02T03:04:05.678+01:00"));
    assert_eq!(exchange.request.body, "{}");
    assert_eq!(content(&exchange), b"data");
}

#[test]
fn bodies_are_found_in_base64_as_parameters_and_as_latin_1() {
    let mut packed = entry();
    packed["response"]["content"] = json!({"size": 1, "text": "/w==", "encoding": "base64"});
    assert_eq!(content(&only("", packed).unwrap()), b"\xff");
    let mut form = entry();
    let kind = "application/x-www-form-urlencoded";
    let params = json!([{"name": "a b", "value": "é&"}, {"name": "c"}]);
    form["request"]["postData"] = json!({"mimeType": kind, "params": params});
    assert_eq!(only("", form.clone()).unwrap().request.body, "a+b=%C3%A9%26&c=");
    form["request"]["postData"]["mimeType"] = "multipart/form-data; boundary=x".into();
    let told = only("", form).unwrap_err();
    assert!(told.starts_with("entry 1: the file holds the fields of its form"), "{told}");
    // mitmproxy decodes an event stream as Latin-1.
    let mut latin = entry();
    latin["response"]["content"]["text"] = "data: Ã©".into();
    assert_eq!(content(&only("mitmproxy", latin.clone()).unwrap()), "data: é".as_bytes());
    assert_eq!(content(&only("Chrome", latin.clone()).unwrap()), "data: Ã©".as_bytes());
    latin["response"]["headers"][0]["value"] = "application/json".into();
    assert_eq!(content(&only("mitmproxy", latin).unwrap()), "data: Ã©".as_bytes());
}

#[test]
fn what_is_no_exchange_is_left_out_with_its_reason() {
    let mut failed = entry();
    failed["response"] = json!({"status": 0, "headers": [], "content": {}, "_error": "net::ERR"});
    assert!(only("", failed).unwrap_err().contains("never answered"));
    let mut bad = entry();
    bad["response"]["content"]["encoding"] = "base64".into();
    bad["response"]["content"]["text"] = "****".into();
    assert!(only("", bad).unwrap_err().contains("base64"));
}

#[test]
fn body_that_the_file_does_not_hold_is_no_empty_one() {
    let answered = |content: Value| {
        let mut entry = entry();
        entry["response"]["content"] = content;
        only("", entry)
    };
    let why = "entry 1: the file does not hold its response's body";
    for absent in [
        json!({"size": 50, "mimeType": "a/b"}),
        json!({"size": 50, "text": "", "comment": "none"}),
        json!({"size": 50, "text": null}),
        json!({"size": -1}),
        json!({"size": "50"}),
        // Its type says that it is a stream, which is never empty.
        json!({"size": 0, "text": ""}),
        json!({}),
        Value::Null,
    ] {
        assert_eq!(answered(absent.clone()).unwrap_err(), why, "{absent}");
    }
    let mut empty = entry();
    empty["response"]["content"] = json!({"size": 0, "mimeType": "text/plain", "text": ""});
    empty["response"]["headers"] = json!([]);
    assert_eq!(content(&only("", empty.clone()).unwrap()), b"");
    empty["response"]["bodySize"] = 9.into();
    assert_eq!(only("", empty.clone()).unwrap_err(), why);
    empty["response"]["status"] = 204.into();
    assert_eq!(content(&only("", empty).unwrap()), b"");
    let asked = |size: i64, post: Value| {
        let mut entry = entry();
        entry["request"]["bodySize"] = size.into();
        entry["request"]["postData"] = post;
        only("", entry).map(|exchange| exchange.request.body)
    };
    let why = "entry 1: the file does not hold its request's body";
    assert_eq!(asked(2, Value::Null).unwrap_err(), why);
    assert_eq!(asked(2, json!({"mimeType": "a/b"})).unwrap_err(), why);
    assert_eq!(asked(2, json!({"text": "", "params": []})).unwrap_err(), why);
    assert_eq!(asked(0, Value::Null).unwrap(), "");
    assert_eq!(asked(-1, Value::Null).unwrap_err(), why);
    assert_eq!(asked(2, json!({"mimeType": "a/b", "text": "{}"})).unwrap(), "{}");
}

fn answered_by(content_type: &str, content: Value) -> Result<ForeignExchange, String> {
    let mut entry = entry();
    let kind = json!({"name": "content-type", "value": content_type});
    entry["response"]["headers"] = json!([kind, {"name": "content-encoding", "value": "gzip"}]);
    entry["response"]["content"] = content;
    only("Polly.JS", entry)
}

#[test]
fn body_in_hex_or_in_pieces_is_decoded() {
    let bytes = b"\x1f\x8b\x08\x00binary";
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let base64 = STANDARD.encode(bytes);
    let pieces = |text: &str| json!([&text[..8], &text[8..]]);
    for held in [
        json!({"text": hex, "_isBinary": true, "size": 3}),
        json!({"text": hex, "encoding": "hex"}),
        json!({"text": pieces(&hex), "_isBinary": true}),
        json!({"text": pieces(&hex).to_string(), "_isBinary": true}),
        json!({"text": pieces(&hex).to_string()}),
        json!({"text": base64, "encoding": "base64", "size": base64.len()}),
        json!({"text": pieces(&base64).to_string(), "encoding": "base64"}),
        json!({"text": pieces(&base64), "encoding": "BASE64"}),
        json!({"text": hex, "size": bytes.len()}),
        json!({"text": base64}),
    ] {
        let exchange = answered_by("audio/mpeg", held.clone()).unwrap();
        assert_eq!(content(&exchange), bytes, "{held}");
    }
    let exchange = answered_by("text/x", json!({"text": "é", "encoding": "latin1"})).unwrap();
    assert_eq!(content(&exchange), b"\xe9");
}

#[test]
fn body_in_an_unknown_encoding_or_member_is_left_out_with_its_reason() {
    for (held, told) in [
        (
            json!({"text": "uryyb", "encoding": "rot13"}),
            "the encoding \"rot13\", which is not known",
        ),
        (json!({"text": "uryyb", "encoding": 13}), "the encoding \"13\""),
        (json!({"text": "aGk=", "isBase64Encoded": true}), "\"isBase64Encoded\""),
        (json!({"text": "aGk=", "_encoding": "base85"}), "\"_encoding\""),
        (json!({"size": 0, "_blob": "x"}), "a member \"_blob\", which is not known"),
        (json!({"_file": "a.bin"}), "not in the file, but in \"a.bin\""),
        (json!({"text": "no hex!", "_isBinary": true}), "neither hex nor base64"),
        (json!({"text": ["a b!"]}), "a list of texts in no known encoding"),
        (json!({"text": 7}), "is no text"),
        (json!("text"), "is no object"),
        (json!({"text": "ID3\u{fffd}\u{fffd}", "size": 5}), "lost bytes"),
    ] {
        let reason = answered_by("audio/mpeg", held.clone()).unwrap_err();
        assert!(reason.contains(told), "{held}: {reason}");
    }
}

#[test]
fn body_in_a_file_beside_is_read_there() {
    let mut entry = entry();
    entry["request"]["postData"] = json!({"mimeType": "a/b", "_file": "in.bin"});
    entry["response"]["content"] = json!({"size": -1, "_file": "out.bin"});
    let attached = AttachedFiles::new(|name| match name {
        "in.bin" => Ok(b"asked".to_vec()),
        "out.bin" => Ok(b"said".to_vec()),
        _ => Err("no".to_owned()),
    });
    let beside = CompanionFiles { attached, ..CompanionFiles::default() };
    let mut items = Vec::new();
    let text = file("Playwright", &[entry]);
    read_with(ForeignFormat::Har, &mut text.as_bytes(), &beside, &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    })
    .unwrap();
    let FoundItem::Exchange(exchange) = &items[0] else { panic!("{items:?}") };
    assert_eq!((&exchange.request.body[..], content(exchange)), (&b"asked"[..], &b"said"[..]));
}

#[test]
fn own_member_gives_chunks_back_where_they_add_up() {
    let mut ours = entry();
    let own = json!({"upstream": "mine", "path": "/p", "step": "s",
        "chunks": [[1.5, 1], [2, 3]], "end": "upstream_abort:reset"});
    ours["_loomrec"] = own;
    let exchange = only("loomrec", ours.clone()).unwrap();
    let ResponseContent::Chunks(chunks) = &exchange.response.content else {
        panic!("{exchange:?}")
    };
    let told: Vec<_> = chunks.iter().map(|chunk| (chunk.at_ms, &chunk.data[..])).collect();
    assert_eq!(told, [(1.5, &b"d"[..]), (2.0, &b"ata"[..])]);
    assert_eq!(exchange.own.unwrap().upstream.as_deref(), Some("mine"));
    assert_eq!(
        exchange.response.end,
        ResponseEnd::UpstreamAbort(loomrec_recording::RecordedCut::Reset)
    );
    for odd in [json!([[1, 99]]), json!([[1]]), json!("x"), json!([])] {
        ours["_loomrec"]["chunks"] = odd;
        assert_eq!(content(&only("loomrec", ours.clone()).unwrap()), b"data");
    }
    ours["_loomrec"] = json!([1, "odd"]);
    assert_eq!(content(&only("loomrec", ours).unwrap()), b"data");
}

#[test]
fn bad_file_is_told_by_what_is_wrong_and_where() {
    let told = |text: &str| found(text).1.unwrap_err().to_string();
    assert!(told("{\"log\": {}}").contains("missing field `entries`"));
    assert!(told("{}").contains("missing field `log`"));
    assert!(told("[]").contains("an object with `log`"));
    assert!(told("").contains("EOF"));
    let one = file("x", &[entry(), json!({"request": 7})]);
    let wrong = told(&one);
    assert!(wrong.contains("after entry 1: ") && wrong.contains("column"), "{wrong}");
    let cut = told(&one[..one.len() - 5]);
    assert!(cut.contains("after entry 1: "), "{cut}");
    assert!(told("{\"log\": {\"entries\": [], \"entries\": []}}").contains("twice"));
    let twice = "{\"log\": {\"entries\": [{\"request\": {\"url\": \"a\", \"url\": \"b\"}}]}}";
    assert!(told(twice).contains("duplicate field `url`"));
    let deep = format!("{{\"log\": {{\"entries\": [{{\"_loomrec\": {}", "[".repeat(100_000));
    assert!(told(&deep).contains("recursion limit"));
    let passed = format!("{{\"x\": {}", "[".repeat(100_000));
    assert!(told(&passed).contains("EOF"));
}
