use super::*;
use crate::test_calls::{read, to_complete, to_stream};
use crate::{Operation, TokenUsage};

const CHAT: Operation = Operation::PERPLEXITY_CHAT;

fn results() -> Value {
    json!([{ "title": "Oslo", "url": "https://example.com/oslo", "date": null,
        "last_updated": "2026-03-03", "snippet": "rain", "source": "web" }])
}

fn usage() -> Value {
    json!({ "prompt_tokens": 8, "completion_tokens": 5, "total_tokens": 13,
        "search_context_size": "low", "citation_tokens": null, "num_search_queries": 1,
        "reasoning_tokens": null, "cost": { "total_cost": 0.005, "request_cost": 0.005 } })
}

/// A chunk with `stream_mode: full`: it has the new text and all text so far.
fn chunk(delta: &str, message: &str, finish: Option<&str>) -> Value {
    json!({ "id": "p-1", "model": "sonar", "created": 1, "object": "chat.completion.chunk",
        "usage": usage(), "citations": ["https://example.com/oslo"], "search_results": results(),
        "type": if finish.is_some() { "end_of_stream" } else { "message" },
        "status": if finish.is_some() { "COMPLETED" } else { "PENDING" },
        "choices": [{ "index": 0, "finish_reason": finish,
            "message": { "role": "assistant", "content": message },
            "delta": { "role": "assistant", "content": delta } }] })
}

fn stream(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect::<String>().into_bytes()
}

fn full() -> Vec<u8> {
    let texts =
        [("It", "It", None), (" rains", "It rains", None), ("[1].", "It rains[1].", Some("stop"))];
    stream(&texts.map(|(delta, message, finish)| chunk(delta, message, finish)))
}

/// A stream with `stream_mode: concise`: only its last chunk has everything.
fn concise() -> Vec<u8> {
    let step = |object: &str, delta: Value| {
        json!({ "id": "p-1", "model": "sonar", "created": 1, "object": object,
            "choices": [{ "index": 0, "finish_reason": null, "delta": delta }] })
    };
    let mut done = chunk("", "It rains[1].", Some("stop"));
    done["object"] = "chat.completion.done".into();
    stream(&[
        step(
            "chat.reasoning",
            json!({ "role": "assistant", "content": "",
            "reasoning_steps": [{ "thought": "Look it up.", "type": "web_search" }] }),
        ),
        step("chat.completion.chunk", json!({ "role": "assistant", "content": "It rains" })),
        step("chat.completion.chunk", json!({ "content": "[1]." })),
        done,
    ])
}

#[test]
fn stream_says_each_word_once_though_each_chunk_repeats_them() {
    for bytes in [full(), concise()] {
        let answer = read(CHAT, true, &bytes).unwrap();
        assert_eq!(answer.content, "It rains[1].");
        assert_eq!(answer.model.as_deref(), Some("sonar"));
        assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
        let counts = TokenUsage {
            prompt_tokens: 8,
            completion_tokens: 5,
            total_tokens: 13,
            ..TokenUsage::default()
        };
        assert_eq!(answer.usage, Some(counts));
    }
}

#[test]
fn complete_answer_of_a_stream_has_its_citations_and_search_results() {
    for bytes in [full(), concise()] {
        let body: Value = serde_json::from_slice(&to_complete(CHAT, &bytes).unwrap()).unwrap();
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["citations"], json!(["https://example.com/oslo"]));
        assert_eq!(body["search_results"], results());
        assert_eq!(body["usage"], usage());
        assert_eq!(body["choices"][0]["message"]["content"], "It rains[1].");
        assert_eq!((body.get("type"), body.get("status")), (None, None));
    }
}

#[test]
fn stream_of_a_complete_answer_tells_the_search_first_and_last() {
    let complete = to_complete(CHAT, &full()).unwrap();
    let chunks = to_stream(CHAT, &complete, false).unwrap();
    let told: Vec<Value> = chunks
        .iter()
        .filter_map(|chunk| serde_json::from_slice(chunk.strip_prefix(b"data: ")?).ok())
        .collect();
    let (first, last) = (told.first().unwrap(), told.last().unwrap());
    for chunk in [first, last] {
        assert_eq!(chunk["citations"], json!(["https://example.com/oslo"]));
        assert_eq!(chunk["search_results"], results());
    }
    assert_eq!(last["usage"], usage());
    assert_eq!(last["choices"][0]["message"]["content"], "It rains[1].");
    let stream = chunks.concat();
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert_eq!(value(&to_complete(CHAT, &stream).unwrap()), value(&complete));
    assert_eq!(read(CHAT, true, &stream), read(CHAT, false, &complete));
}

#[test]
fn cut_stream_is_no_complete_answer() {
    let whole = full();
    let at = whole.len() * 2 / 3;
    assert!(to_complete(CHAT, &whole[..at]).is_err());
    assert_eq!(read(CHAT, true, &whole[..at]).unwrap().content, "It rains");
}

#[test]
fn reasoning_that_stands_beside_the_completion_is_counted() {
    let body = json!({ "model": "sonar-deep-research", "choices": [{ "index": 0,
        "message": { "content": "x" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 33, "completion_tokens": 11395, "total_tokens": 11428,
            "reasoning_tokens": 193947 } });
    let usage = read(CHAT, false, body.to_string().as_bytes()).unwrap().usage.unwrap();
    assert_eq!((usage.completion_tokens, usage.reasoning_tokens), (205_342, 193_947));
    assert_eq!(usage.total_tokens, 205_375);
}
