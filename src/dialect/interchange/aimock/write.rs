//! The writer of fixtures.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::write::{EntryToWrite, WrittenEntry};
use loomrec_provider::conversation::argument_text;
use loomrec_provider::{Provider, RecognisedCall, TokenUsage};
use loomrec_recording::{Entry, ResponseEnd};

/// The hash of a rule. The rules themselves are as long as prompts.
type Mark = [u8; 16];

/// Counts the rules, and how often each was written.
#[derive(Debug, Default)]
pub(in super::super) struct MatchCounter {
    /// The number of calls for each rule, from a first pass.
    calls: BTreeMap<Mark, usize>,
    written: BTreeMap<Mark, usize>,
}

impl MatchCounter {
    /// Counts a call before any is written. Returns the rank by which it must be written: a longer
    /// text comes earlier, since aimock takes the first fixture whose text occurs in a request.
    pub(in super::super) fn survey(&mut self, entry: &Entry) -> usize {
        let call = entry.recognise_call();
        let rule = call.zip(entry.request_body()).map(|(call, body)| call_rule(&call, body));
        let Some(Ok(rule)) = rule else { return 0 };
        *self.calls.entry(rule_mark(&rule)).or_default() += 1;
        let length = |name: &str| rule.get(name).and_then(Value::as_str).map_or(0, str::len);
        length("userMessage") + length("inputText") + length("systemMessage")
    }

    /// Returns the fixture of an entry.
    ///
    /// # Errors
    /// If aimock cannot represent the entry. The error says why.
    pub(in super::super) fn write_entry(
        &mut self,
        sent: &EntryToWrite<'_>,
    ) -> Result<WrittenEntry, String> {
        let entry = sent.entry;
        let Some((call, body)) = entry.recognise_call().zip(entry.request_body()) else {
            return Err("its request is not recorded".to_owned());
        };
        let mut rule = call_rule(&call, body)?;
        let mut lost = vec![
            "requests: aimock knows calls by their last message, model, turn and system prompt",
            "ids, headers, and what else an answer holds beside text, tool calls and usage",
        ];
        let response = fixture_response(entry, &call, &mut lost)?;
        let mark = rule_mark(&rule);
        let place = self.written.entry(mark).or_default();
        if self.calls.get(&mark).is_some_and(|calls| *calls > 1) {
            rule.insert("sequenceIndex".to_owned(), (*place).into());
        }
        *place += 1;
        let mut fixture = Map::from_iter([
            ("match".to_owned(), Value::Object(rule)),
            ("response".to_owned(), response),
        ]);
        if let Some(timings) = chunk_timings(entry) {
            lost.push("the chunks of streamed answers: aimock cuts its own");
            fixture.insert("recordedTimings".to_owned(), timings);
        }
        if sent.step.is_some() || entry.session.is_some() {
            lost.push("step ids and sessions");
        }
        Ok(WrittenEntry { text: Value::Object(fixture).to_string(), lost })
    }
}

fn rule_mark(rule: &Map<String, Value>) -> Mark {
    let digest = Sha256::digest(json!(rule).to_string());
    let mut mark = Mark::default();
    mark.copy_from_slice(&digest[..16]);
    mark
}

/// Returns the rule for a call, as aimock's recorder writes it, with the system prompt.
fn call_rule(call: &RecognisedCall, body: &[u8]) -> Result<Map<String, Value>, String> {
    let mut rule = Map::new();
    if call.operation.embeds_input() {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = match body.get("input") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {
                texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            _ => return Err("aimock does not support embeddings of tokens".to_owned()),
        };
        rule.insert("inputText".to_owned(), text.into());
        rule.insert("endpoint".to_owned(), "embedding".into());
    } else {
        let talk = call
            .operation
            .read_conversation(body)
            .ok_or_else(|| format!("{} cannot be exported to aimock", call.operation.name()))?;
        let Some(user) = talk.last_user().filter(|text| !text.is_empty()) else {
            return Err("aimock matches on the last user message, which is not text here".into());
        };
        rule.insert("userMessage".to_owned(), user.into());
        let system = talk.system_text();
        if !system.is_empty() && !system.contains('\n') {
            rule.insert("systemMessage".to_owned(), system.into());
        }
        rule.insert("turnIndex".to_owned(), talk.turn_count().into());
        rule.insert("hasToolResult".to_owned(), talk.has_tool_result().into());
        if let Some((id, _)) = talk.last_result().filter(|(id, _)| !id.is_empty()) {
            // Some providers' calls have no ids of their own.
            if call.provider.has_call_ids() {
                rule.insert("toolCallId".to_owned(), id.into());
            }
        }
    }
    if let Some(model) = &call.model {
        rule.insert("model".to_owned(), model.as_str().into());
    }
    Ok(rule)
}

/// Returns the answer.
fn fixture_response(
    entry: &Entry,
    call: &RecognisedCall,
    lost: &mut Vec<&'static str>,
) -> Result<Value, String> {
    if matches!(entry.answer_end(), Some(ResponseEnd::UpstreamAbort(_))) {
        return Err("its answer was cut, which aimock would serve as a whole one".to_owned());
    }
    if let Some(status) = entry.answer_status().filter(|status| *status >= 300) {
        return Ok(error_response(entry, status, lost));
    }
    if call.operation.embeds_input() {
        return embedding_response(entry);
    }
    let content = entry.content.as_deref().unwrap_or_default();
    let mut out = Map::new();
    if !content.is_empty() || entry.tool_calls.is_empty() {
        out.insert("content".to_owned(), content.into());
    }
    if !entry.tool_calls.is_empty() {
        let calls = entry.tool_calls.iter().map(|call| {
            let mut out = json!({ "name": call.name, "arguments": argument_text(call) });
            if !call.id.is_empty() {
                out["id"] = call.id.as_str().into();
            }
            out
        });
        out.insert("toolCalls".to_owned(), calls.collect());
    }
    if let Some(usage) = entry.usage.filter(|_| call.provider != Provider::UNKNOWN) {
        out.insert("usage".to_owned(), usage_value(usage, call));
    }
    if let Some(word) = entry.finish_reason.as_deref().and_then(finish_reason) {
        out.insert("finishReason".to_owned(), word.into());
    }
    Ok(Value::Object(out))
}

fn error_response(entry: &Entry, status: u16, lost: &mut Vec<&'static str>) -> Value {
    let bytes = entry.answer_bytes().unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let inner = body.get("error").unwrap_or(&body);
    let word = |name: &str| inner.get(name).and_then(Value::as_str);
    lost.push("the whole of error bodies: aimock keeps type, code and message");
    let mut error = Map::new();
    let message = word("message").or_else(|| inner.as_str()).unwrap_or("error");
    error.insert("message".to_owned(), message.into());
    for name in ["type", "code"] {
        if let Some(word) = word(name) {
            error.insert(name.to_owned(), word.into());
        }
    }
    json!({ "error": error, "status": status })
}

fn embedding_response(entry: &Entry) -> Result<Value, String> {
    let bytes = entry.answer_bytes();
    let body: Value =
        bytes.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let rows = body.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let first = match (rows, entry.embeddings.as_slice()) {
        ([only], _) => only.get("embedding").cloned(),
        ([], [only]) => Some(json!(only)),
        _ => return Err("aimock has one vector for all texts of a call".to_owned()),
    };
    match first {
        Some(numbers @ Value::Array(_)) => Ok(json!({ "embedding": numbers })),
        Some(Value::String(packed)) => {
            let bytes = super::super::lenient::decode_base64(&packed);
            let bytes = bytes.filter(|bytes| bytes.len() % 4 == 0);
            let bytes = bytes.ok_or_else(|| "its vector cannot be read".to_owned())?;
            let floats = bytes.chunks_exact(4).map(|four| {
                let mut word = [0; 4];
                word.copy_from_slice(four);
                f64::from(f32::from_le_bytes(word))
            });
            Ok(json!({ "embedding": floats.collect::<Vec<f64>>() }))
        }
        _ => Err("its vector cannot be read".to_owned()),
    }
}

/// Returns the usage under the provider's names, since aimock does not translate them.
fn usage_value(usage: TokenUsage, call: &RecognisedCall) -> Value {
    let TokenUsage { prompt_tokens, completion_tokens, total_tokens, .. } = usage;
    let names = call.operation.usage_names();
    let mut out = json!({ names.input: prompt_tokens, names.output: completion_tokens });
    if let Some(total) = names.total {
        out[total] = total_tokens.into();
    }
    out
}

/// Returns OpenAI's finish reason, which aimock translates.
fn finish_reason(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "stop_sequence" | "completed" | "complete" => Some("stop"),
        "length" | "max_tokens" | "incomplete" => Some("length"),
        "tool_calls" | "tool_use" | "tool_call" => Some("tool_calls"),
        "content_filter" | "safety" | "refusal" => Some("content_filter"),
        _ => None,
    }
}

/// Returns the times of a stream's chunks.
fn chunk_timings(entry: &Entry) -> Option<Value> {
    let times: Vec<f64> = entry.answer_chunks()?.iter().map(|chunk| chunk.at_ms).collect();
    let [first, .., last] = times.as_slice() else { return None };
    let delays: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect();
    Some(json!({ "ttftMs": first, "interChunkDelaysMs": delays, "totalDurationMs": last }))
}
