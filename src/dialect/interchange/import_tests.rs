use std::io::Write as _;

use serde_json::json;

use super::super::exchange::ForeignResponse;
use super::*;
use loomrec_recording::ResponseEnd;
use loomrec_recording::body::ChunkLayout;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::redact::Redactor;

const KEY: &str = "not-of-a-known-shape-4711";

/// Returns an importer with the settings of a command line without flags.
pub(in super::super) fn importer<'a>(
    maker: EntryMaker<'a>,
    addresses: &'a UpstreamAddresses,
    rules: &'a IdentityRules,
) -> EntryImporter<'a> {
    EntryImporter {
        maker,
        addresses,
        rules,
        credential_params: &[],
        all: false,
        assume: true,
        substitutes: &[],
        any_length: false,
    }
}

fn import(exchange: ForeignExchange) -> Result<ImportedEntry, ImportRefusal> {
    let redactor = Redactor::new(&[]).unwrap();
    let prices = PriceTable::built_in();
    let maker = EntryMaker { redactor: &redactor, prices: &prices, max: 1 << 20 };
    let (addresses, rules) = (UpstreamAddresses::default(), IdentityRules::default());
    importer(maker, &addresses, &rules).import_entry(exchange)
}

fn exchange(kind: &str, content: ResponseContent) -> ForeignExchange {
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let body = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": KEY}]});
    ForeignExchange {
        place: "entry 1".to_owned(),
        request: ForeignRequest {
            method: "post".to_owned(),
            url: "https://api.openai.com/v1/chat/completions?api_key=abcdefghij&v=1".to_owned(),
            headers: vec![
                pair(":authority", "api.openai.com"),
                pair("Authorization", &format!("Bearer {KEY}")),
                pair("Content-Type", "application/json"),
                pair("X-Other", "gone"),
            ],
            body: body.to_string().into(),
            size: None,
        },
        response: ForeignResponse {
            status: 200,
            reason: None,
            headers: vec![
                pair("Content-Type", kind),
                pair("Content-Length", "9999"),
                pair("Set-Cookie", "a=b"),
                pair("Transfer-Encoding", "chunked"),
            ],
            content,
            size: None,
            end: ResponseEnd::Complete,
        },
        started: Some("2026-01-02T03:04:05+01:00".to_owned()),
        first_ms: Some(10.0),
        duration_ms: Some(30.0),
        own: None,
        messages: Vec::new(),
        lost: Vec::new(),
    }
}

fn answer() -> String {
    json!({"model": "gpt-4o-mini-2024-07-18", "choices": [{"message": {"content": format!("You said {KEY}")},
        "finish_reason": "stop"}], "usage": {"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000}})
    .to_string()
}

#[test]
fn entry_is_the_one_that_recording_would_have_made() {
    let made =
        import(exchange("application/json", ResponseContent::Wire(answer().into()))).unwrap();
    let entry = made.entry;
    let request = entry.request.as_ref().unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.query, "v=1");
    assert_eq!(request.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    let response = entry.response.as_ref().unwrap();
    let names: Vec<_> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-type", "content-length"]);
    assert_eq!(response.headers[1].1, answer().len().to_string());
    assert_eq!(response.payload.layout(), ChunkLayout::Whole);
    assert_eq!(entry.content.as_deref(), Some("You said [REDACTED]"));
    assert_eq!(entry.recorded_at.as_deref(), Some("2026-01-02T02:04:05.000000Z"));
    assert_eq!((entry.latency_ms, entry.upstream.as_deref()), (Some(30.0), Some("openai")));
    assert!(entry.cost_usd.unwrap() > 0.0);
    assert!(!String::from_utf8(entry.to_text()).unwrap().contains(KEY));
    let (_, key) = request.recognise_with_key(&IdentityRules::default());
    assert_eq!((made.name, entry.request_hash.unwrap()), (EntryName::Hash(key.clone()), key));
}

#[test]
fn stream_is_cut_at_each_event_with_the_two_times_that_are_known() {
    let text = "data: {}\n\n: ping\n\ndata: [DONE]\n\n";
    let made = import(exchange("text/event-stream", ResponseContent::Wire(text.into()))).unwrap();
    let payload = made.entry.response.unwrap().payload;
    assert_eq!(payload.layout(), ChunkLayout::Chunks);
    let told: Vec<_> =
        payload.chunks().iter().map(|c| (c.at_ms, std::str::from_utf8(&c.data).unwrap())).collect();
    assert_eq!(told[0], (10.0, "data: {}\n\n"));
    assert_eq!(told.last().unwrap(), &(30.0, "data: [DONE]\n\n"));
    assert_eq!(told.iter().map(|(_, text)| *text).collect::<String>(), text);
    assert_eq!(made.lost, ["the chunks of streamed answers: they are cut at each event"]);
    let cut = import(exchange("text/event-stream", ResponseContent::Wire("data: 1\n\nda".into())))
        .unwrap();
    assert_eq!(cut.entry.response.unwrap().payload.joined_bytes(), "data: 1\n\nda");
}

#[test]
fn body_is_unpacked_whether_the_tool_did_it_or_not() {
    let packed = |coding: &str, bytes: Vec<u8>| {
        let mut exchange = exchange("application/json", ResponseContent::Wire(bytes.into()));
        exchange.response.headers.push(("Content-Encoding".to_owned(), coding.to_owned()));
        exchange
    };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(answer().as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    for exchange in [
        packed("gzip", gzip.clone()),
        packed("gzip", answer().into_bytes()),
        packed("br", answer().into_bytes()),
    ] {
        let entry = import(exchange).unwrap().entry;
        assert_eq!(entry.content.as_deref(), Some("You said [REDACTED]"));
        let headers = entry.response.unwrap().headers;
        assert!(headers.iter().all(|(name, _)| name != "content-encoding"));
    }
    let half = packed("gzip", gzip[..gzip.len() / 2].to_vec());
    let ImportRefusal::Damaged(why) = import(half).unwrap_err() else {
        panic!("it is an upstream's")
    };
    assert!(why.contains("content-encoding: gzip"), "{why}");
}

#[test]
fn compressed_request_is_freed_of_its_own_credential() {
    let mut sent = exchange("application/json", ResponseContent::Plain(answer().into()));
    let plain = import(sent.clone()).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&sent.request.body).unwrap();
    sent.request.body = encoder.finish().unwrap().into();
    sent.request.headers.push(("Content-Encoding".to_owned(), "gzip".to_owned()));
    let packed = import(sent.clone()).unwrap();
    assert_eq!(packed.entry.request, plain.entry.request);
    assert_eq!(packed.name, plain.name);
    sent.request.body = sent.request.body.slice(..20);
    let cut = import(sent).unwrap().entry.request.unwrap().body;
    assert!(cut.starts_with(b"[REDACTED] a body of 20 bytes"), "{cut:?}");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let change = |change: &dyn Fn(&mut ForeignExchange)| {
        let mut exchange = exchange("application/json", ResponseContent::Plain(answer().into()));
        change(&mut exchange);
        import(exchange).map(|made| made.name)
    };
    let refused = |change_it: &dyn Fn(&mut ForeignExchange)| match change(change_it) {
        Err(ImportRefusal::Reason(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(&|e| e.response.status = 0).contains("never answered"));
    assert!(refused(&|e| e.response.status = 101).contains("WebSocket"));
    assert!(refused(&|e| e.response.status = 999).contains("status"));
    assert!(refused(&|e| e.request.url = "not a url".to_owned()).contains("URL"));
    assert!(refused(&|e| e.request.url = "/v1/x".to_owned()).contains("host"));
    assert!(refused(&|e| e.request.method = "OPTIONS".to_owned()).contains("OPTIONS"));
    let step =
        |name: &str| Some(OwnDetails { step: Some(name.to_owned()), ..OwnDetails::default() });
    assert!(refused(&|e| e.own = step("_x")).contains("step id"));
    let foreign = change(&|e| e.request.url = "https://user:pass@example.com/x".to_owned());
    assert_eq!(foreign, Err(ImportRefusal::Foreign("example.com".to_owned())));
    assert_eq!(change(&|e| e.own = step("plan")), Ok(EntryName::from_step_id("plan").unwrap()));
}

#[test]
fn mark_of_another_tool_is_no_credential() {
    let mut masked = exchange("application/json", ResponseContent::Wire("\"REDACTED\"".into()));
    masked.request.headers[1].1 = "Bearer REDACTED".to_owned();
    let entry = import(masked).unwrap().entry;
    assert_eq!(entry.response.unwrap().payload.joined_bytes(), "\"REDACTED\"");
}
