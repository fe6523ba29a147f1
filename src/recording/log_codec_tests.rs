use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::entry::{
    ClientLeft, RecordedCut, RecordedRequest, RecordedResponse, ResponseEnd,
};
use super::super::message::{MessagePayload, MessageSender, RecordedMessage};
use super::*;
use loomrec_identity::RequestKey;
use loomrec_provider::{TokenUsage, ToolCall};

fn any_name() -> impl Strategy<Value = EntryName> {
    prop_oneof![
        "[a-e#é \"]{1,9}".prop_map(|id| EntryName::from_step_id(&id).unwrap()),
        "[ab]".prop_map(|c| EntryName::Hash(RequestKey::parse(&c.repeat(64)).unwrap())),
    ]
}

fn any_payload() -> impl Strategy<Value = ResponsePayload> {
    let layout =
        prop_oneof![Just(ChunkLayout::Whole), Just(ChunkLayout::Frames), Just(ChunkLayout::Chunks)];
    let data = prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        Just(b"{\"a\": [1, \"\\u00e9\"]}\n".to_vec()),
    ];
    let chunk = (any::<f64>(), data).prop_map(|(at_ms, data)| Chunk { at_ms, data: data.into() });
    (layout, prop::collection::vec(chunk, 0..4))
        .prop_map(|(layout, chunks)| ResponsePayload::new(layout, chunks))
}

fn any_headers() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("[a-cA]{1,2}", any::<String>()), 0..4)
}

fn any_end() -> impl Strategy<Value = ResponseEnd> {
    prop_oneof![
        Just(ResponseEnd::Complete),
        Just(ResponseEnd::ClientAbort),
        Just(ResponseEnd::Truncated),
        Just(ResponseEnd::UpstreamAbort(RecordedCut::Close)),
        Just(ResponseEnd::UpstreamAbort(RecordedCut::Reset)),
    ]
}

fn any_request() -> impl Strategy<Value = RecordedRequest> {
    (any::<String>(), any::<String>(), any_headers(), any::<Vec<u8>>()).prop_map(
        |(path, query, headers, body)| RecordedRequest {
            method: "POST".to_owned(),
            path,
            query,
            headers,
            other_headers: Default::default(),
            packed: None,
            body: body.into(),
        },
    )
}

fn any_response() -> impl Strategy<Value = RecordedResponse> {
    let fields = (any_headers(), any_headers());
    (100_u16..1000, any::<Option<String>>(), fields, any_payload(), any_end()).prop_map(
        |(status, reason, (headers, trailers), payload, end)| RecordedResponse {
            status,
            reason,
            headers,
            trailers,
            payload,
            end,
        },
    )
}

fn any_messages() -> impl Strategy<Value = Vec<RecordedMessage>> {
    let payload = prop_oneof![
        any::<String>().prop_map(|text| MessagePayload::Text(text.into())),
        Just(MessagePayload::Text(r#"{"a": [1.50, "\u00e9"]}"#.into())),
        any::<Vec<u8>>().prop_map(|bytes| MessagePayload::Binary(bytes.into())),
        (1000_u16..5000, any::<String>())
            .prop_map(|(code, reason)| MessagePayload::Close { code, reason }),
    ];
    let sender = prop_oneof![Just(MessageSender::Client), Just(MessageSender::Server)];
    let message = (sender, 0.0..3.6e6, payload)
        .prop_map(|(sender, at_ms, payload)| RecordedMessage::new(sender, at_ms, payload));
    prop::collection::vec(message, 0..4)
}

fn any_calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let call = (any::<String>(), any::<i64>()).prop_map(|(name, number)| ToolCall {
        id: name.clone(),
        name,
        arguments: json!({"n": number, "l": [null, 1.5]}),
    });
    prop::collection::vec(call, 0..3)
}

fn any_extra() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(
        prop_oneof![Just("zz".to_owned()), Just("model".to_owned()), any::<String>()],
        any::<Option<String>>().prop_map(Value::from),
        0..3,
    )
    .prop_map(|map| map.into_iter().collect())
}

/// Generates any entry that a file can hold.
pub(crate) fn any_entry() -> impl Strategy<Value = Entry> {
    let words = (
        any::<Option<String>>(),
        any::<Option<String>>(),
        any::<Option<String>>(),
        prop::option::of("t[0-9]{0,3}"),
    );
    let numbers = (any::<Option<f64>>(), any::<Option<f64>>(), any::<Option<[u64; 6]>>());
    let lists = (any_calls(), prop::collection::vec(any::<Vec<f64>>(), 0..3));
    let messages = prop_oneof![4 => Just(Vec::new()), 1 => any_messages()];
    let bodies = (prop::option::of(any_request()), prop::option::of(any_response()), messages);
    let more = (any::<bool>(), prop_oneof![4 => Just(Map::new()), 1 => any_extra()]);
    (words, numbers, lists, bodies, more).prop_map(
        |(words, numbers, lists, (request, response, messages), (fault, extra))| Entry {
            is_ambiguous: false,
            content: words.0,
            model: words.1.clone(),
            usage: numbers.2.map(|n| TokenUsage {
                prompt_tokens: n[0],
                completion_tokens: n[1],
                total_tokens: n[2],
                reasoning_tokens: n[3],
                cached_tokens: n[4],
                cache_write_tokens: n[5],
            }),
            cost_usd: numbers.0,
            latency_ms: numbers.1,
            finish_reason: words.2.clone(),
            tool_calls: lists.0,
            embeddings: lists.1,
            request_hash: RequestKey::parse(&"ab".repeat(32)),
            provider: words.2,
            upstream: words.1.clone(),
            upstream_origin: words.1.clone(),
            preset: words.1.clone(),
            run_values: words
                .3
                .iter()
                .map(|day| ("day".to_owned(), format!("2026-{day}")))
                .collect(),
            session: words.1,
            recorded_at: words.3.clone(),
            edited_at: words.3.clone().filter(|time| time.len() % 3 == 0),
            ended_at: words.3.filter(|time| time.len() % 2 == 0),
            request,
            response,
            messages,
            client_left: numbers.2.map(|n| ClientLeft {
                at_ms: (n[1] % 36_000_000) as f64 / 10.0,
                bytes: Some(n[0]).filter(|bytes| bytes % 3 > 0),
            }),
            fault: (fault && !extra.is_empty()).then(|| json!({"type": "hang"})),
            extra,
        },
    )
}

#[test]
fn head_tells_the_name_and_the_time_without_reading_the_entry() {
    let name = EntryName::from_step_id("plan").unwrap();
    let text = |text: &str| Some(text.to_owned());
    let entry = Entry { recorded_at: text("t1"), session: text("s1"), ..Entry::default() };
    let mut packed = pack_entry(&name, true, &entry);
    let precedence = TakePrecedence::Replacing(RunPosition::default());
    let scope = CallScope { session: text("s1"), ..CallScope::default() };
    let head = PackedHead { name, precedence, scope, recorded_at: text("t1") };
    assert_eq!(read_head(&packed), Ok(head.clone()));
    assert_eq!(unpack_entry(&packed), Ok((head, entry)));
    packed.push(0);
    assert_eq!(unpack_entry(&packed), Err(PackedError::Length));
}

#[test]
fn name_that_cannot_stand_in_a_recording_is_refused() {
    for name in ["", "_version", &format!("{}#2", "a".repeat(64)), &"x".repeat(300)] {
        let packed = pack_entry(&EntryName::Step(name.to_owned()), false, &Entry::default());
        assert_eq!(read_head(&packed), Err(PackedError::Name), "{name}");
        assert_eq!(unpack_entry(&packed), Err(PackedError::Name), "{name}");
    }
}

#[test]
fn head_that_is_no_entry_is_refused() {
    let name = EntryName::from_step_id("plan").unwrap();
    let entry = Entry { fault: Some(json!("hang")), ..Entry::default() };
    let error = unpack_entry(&pack_entry(&name, false, &entry)).unwrap_err();
    assert!(error.to_string().contains("/fault must be an object"), "{error}");
}

proptest! {
    #[test]
    fn what_is_unpacked_is_what_the_file_would_hold(name in any_name(), replaces: bool, entry in any_entry()) {
        let packed = pack_entry(&name, replaces, &entry);
        let position = TakePrecedence::Replacing(RunPosition::default());
        let precedence = if replaces { position } else { TakePrecedence::Further };
        let (scope, recorded_at) = (CallScope::from_entry(&entry), entry.recorded_at.clone());
        let head = PackedHead { name, precedence, scope, recorded_at };
        prop_assert_eq!(read_head(&packed), Ok(head.clone()));
        let filed = Entry::parse(&entry.to_json()).unwrap();
        prop_assert_eq!(unpack_entry(&packed), Ok((head, filed.clone())));
        prop_assert_eq!(unpack_entry(&pack_entry(&filed_name(), replaces, &filed)).unwrap().1, filed);
    }

    #[test]
    fn cut_or_changed_bytes_never_make_it_panic(entry in any_entry(), at: prop::sample::Index, byte: u8, bytes: Vec<u8>) {
        let mut packed = pack_entry(&filed_name(), true, &entry);
        let at = at.index(packed.len());
        prop_assert!(unpack_entry(&packed[..at]).is_err());
        let _ = read_head(&packed[..at]);
        packed[at] = byte;
        let _ = (read_head(&packed), unpack_entry(&packed), read_head(&bytes), unpack_entry(&bytes));
    }
}

fn filed_name() -> EntryName {
    EntryName::from_step_id("a").unwrap()
}

#[test]
fn precedence_is_read_back_and_changes_nothing_else() {
    let entry = Entry { content: Some("x".to_owned()), ..Entry::default() };
    let mut packed = pack_entry(&EntryName::from_step_id("s").unwrap(), false, &entry);
    let length = packed.len();
    let at = |failures, takes, failed| {
        TakePrecedence::Replacing(RunPosition { failures, takes, failed })
    };
    for precedence in [
        at(0, 0, false),
        at(0, 0, true),
        at(u32::MAX, 1, true),
        at(2, u32::MAX, false),
        TakePrecedence::Further,
    ] {
        set_precedence(&mut packed, precedence);
        assert_eq!(read_head(&packed).unwrap().precedence, precedence);
        assert_eq!((unpack_entry(&packed).unwrap().1, packed.len()), (entry.clone(), length));
    }
}

#[test]
fn entry_that_an_earlier_version_logged_is_read() {
    let name = EntryName::from_step_id("plan").unwrap();
    let entry = Entry { recorded_at: Some("t1".to_owned()), ..Entry::default() };
    let packed = pack_entry(&name, true, &entry);
    // Without the position and the session.
    let mut oldest = vec![packed[0] & !POSITIONED];
    oldest.extend_from_slice(&packed[1 + POSITION + 4..]);
    assert_eq!(unpack_entry(&oldest), unpack_entry(&packed));
    let of_form = Entry {
        upstream: Some("gw".to_owned()),
        request: Some(RecordedRequest {
            path: "/a/v1/chat/completions".to_owned(),
            ..RecordedRequest::default()
        }),
        ..entry
    };
    let full = pack_entry(&name, true, &of_form);
    // Without the form, too.
    let scope = CallScope { form: None, ..CallScope::from_entry(&of_form) };
    let mut older = Vec::new();
    pack_to(&mut older, &name, read_head(&full).unwrap().precedence, &scope, &of_form);
    assert_eq!(full.len() - older.len(), 4 + "complete /a/v1".len());
    assert_eq!(read_head(&older).unwrap().scope, scope);
    assert_eq!(unpack_entry(&older).unwrap().1, unpack_entry(&full).unwrap().1);
    for bytes in [&oldest, &packed, &older, &full] {
        let length = bytes.len();
        let read = |at: u64, buffer: &mut [u8]| -> Result<bool, ()> {
            let found = bytes.get(at as usize..).and_then(|rest| rest.get(..buffer.len()));
            if let Some(found) = found {
                buffer.copy_from_slice(found);
            }
            Ok(found.is_some())
        };
        assert_eq!(packed_length(read), Ok(Some(length as u64)));
    }
}
