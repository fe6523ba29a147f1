//! The writer of spans: one OTLP request on each line, with the attributes of both conventions.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::openai::complete;
use super::super::write::{EntryToWrite, WrittenEntry};
use loomrec_provider::conversation::{self, arguments, assistant};
use loomrec_provider::{Operation, RecognisedCall};
use loomrec_recording::{Entry, RecordedRequest, ResponseEnd, timestamp};

/// Returns the span of an entry.
///
/// # Errors
/// If the entry has no span. The error says why.
pub(in super::super) fn entry(
    sent: &EntryToWrite<'_>,
    url: &str,
    request: &RecordedRequest,
) -> Result<WrittenEntry, String> {
    let entry = sent.entry;
    let call = request.recognise();
    if call.operation == Operation::OTHER {
        return Err("not a call of a model".to_owned());
    }
    let mut lost = vec!["headers"];
    let mut out = WrittenAttributes::default();
    out.request(entry, &call, url, request);
    let failed = out.answer(entry, request, &mut lost);
    out.words(entry, &call, request);
    if let Some(step) = sent.step {
        out.text("loomrec.step", step);
    }
    out.text("loomrec.key", sent.key);
    let start = entry.recorded_at.as_deref().and_then(timestamp::micros).unwrap_or(0).max(0);
    #[expect(clippy::cast_possible_truncation, reason = "a duration of some minutes")]
    let took = (entry.latency_ms.unwrap_or(0.0).clamp(0.0, 1e12) * 1e6) as i64;
    let start = start.saturating_mul(1000);
    // The id includes the start time, since the first takes of different calls may have the same
    // key in two recordings.
    let id = hex(&Sha256::digest(format!("loomrec span\n{}\n{start}", sent.key)));
    let code = if failed { 2 } else { 1 };
    let line = json!({ "resourceSpans": [{
        "resource": { "attributes": [{ "key": "service.name",
            "value": { "stringValue": "loomrec" } }] },
        "scopeSpans": [{
            "scope": { "name": "loomrec", "version": env!("CARGO_PKG_VERSION") },
            "spans": [{
                "traceId": id.get(..32), "spanId": id.get(32..48), "parentSpanId": "",
                "name": name(&call), "kind": 3,
                "startTimeUnixNano": start.to_string(),
                "endTimeUnixNano": start.saturating_add(took).to_string(),
                "attributes": out.list,
                "status": { "code": code },
            }],
        }],
    }] });
    Ok(WrittenEntry { text: format!("{line}\n"), lost })
}

fn name(call: &RecognisedCall) -> String {
    match &call.model {
        Some(model) => format!("{} {model}", operation(call)),
        None => operation(call).to_owned(),
    }
}

/// Returns the convention's word for an operation.
fn operation(call: &RecognisedCall) -> &'static str {
    // An operation without a word in the convention is written as a chat.
    const KNOWN: [&str; 3] = ["embeddings", "text_completion", "generate_content"];
    call.operation.semantic().filter(|word| KNOWN.contains(word)).unwrap_or("chat")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Attributes in their written form.
#[derive(Default)]
struct WrittenAttributes {
    list: Vec<Value>,
}

impl WrittenAttributes {
    fn put(&mut self, key: &str, kind: &str, value: Value) {
        let typed = Map::from_iter([(kind.to_owned(), value)]);
        self.list.push(json!({ "key": key, "value": typed }));
    }

    fn text(&mut self, key: &str, text: &str) {
        self.put(key, "stringValue", text.into());
    }

    fn count(&mut self, key: &str, count: u64) {
        self.put(key, "intValue", count.to_string().into());
    }

    fn request(
        &mut self,
        entry: &Entry,
        call: &RecognisedCall,
        url: &str,
        request: &RecordedRequest,
    ) {
        let vectors = operation(call) == "embeddings";
        self.text("openinference.span.kind", if vectors { "EMBEDDING" } else { "LLM" });
        self.text("gen_ai.operation.name", operation(call));
        let provider = entry.upstream.as_deref().unwrap_or(call.provider.name());
        self.text("gen_ai.provider.name", provider);
        self.text("gen_ai.system", provider);
        self.text("llm.system", call.provider.name());
        self.text("llm.provider", provider);
        self.text("http.request.method", &request.method);
        self.text("url.full", url);
        if let Some(model) = &call.model {
            self.text("gen_ai.request.model", model);
        }
        if let Ok(text) = std::str::from_utf8(&request.body) {
            self.text("input.value", text);
            self.text("input.mime_type", "application/json");
        }
    }

    /// Adds the response. Returns whether it is an error.
    fn answer(
        &mut self,
        entry: &Entry,
        request: &RecordedRequest,
        lost: &mut Vec<&'static str>,
    ) -> bool {
        if let Some(model) = &entry.model {
            self.text("gen_ai.response.model", model);
            self.text("llm.model_name", model);
        }
        if let Some(usage) = entry.usage {
            self.count("gen_ai.usage.input_tokens", usage.prompt_tokens);
            self.count("gen_ai.usage.output_tokens", usage.completion_tokens);
            self.count("llm.token_count.prompt", usage.prompt_tokens);
            self.count("llm.token_count.completion", usage.completion_tokens);
            self.count("llm.token_count.total", usage.total_tokens);
        }
        if let Some(word) = &entry.finish_reason {
            let words = json!({ "values": [{ "stringValue": word }] });
            self.put("gen_ai.response.finish_reasons", "arrayValue", words);
        }
        let Some(response) = &entry.response else { return false };
        self.count("http.response.status_code", response.status.into());
        if response.payload.chunks().len() > 1 {
            lost.push("the chunks of streamed answers, and their times");
        }
        if response.end != ResponseEnd::Complete {
            lost.push("that an answer was cut");
        }
        match complete(entry, request, response).map(String::from_utf8) {
            Ok(Ok(text)) => {
                self.text("output.value", &text);
                self.text("output.mime_type", "application/json");
            }
            _ => lost.push("answers that are not text, or not whole"),
        }
        entry.is_failure()
    }

    /// Adds the conversation in both conventions.
    fn words(&mut self, entry: &Entry, call: &RecognisedCall, request: &RecordedRequest) {
        let Some(talk) = call.operation.conversation(&request.body) else { return };
        let content = entry.content.as_deref().unwrap_or_default();
        let answer = assistant(content, &entry.tool_calls);
        for (index, message) in talk.messages.iter().enumerate() {
            self.message(&format!("llm.input_messages.{index}.message"), message);
        }
        self.message("llm.output_messages.0.message", &answer);
        for (index, tool) in talk.tools.iter().enumerate() {
            self.text(&format!("llm.tools.{index}.tool.json_schema"), &tool.to_string());
        }
        if let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&request.body) {
            let said = ["messages", "contents", "input", "system", "instructions", "tools"];
            let rest: Map<String, Value> =
                body.into_iter().filter(|(name, _)| !said.contains(&name.as_str())).collect();
            self.text("llm.invocation_parameters", &Value::Object(rest).to_string());
        }
        let (system, rest): (Vec<&Value>, Vec<&Value>) =
            talk.messages.iter().partition(|message| role(message) == "system");
        if !system.is_empty() {
            let texts = system.iter().filter_map(|message| conversation::text(message));
            let parts: Value =
                texts.map(|text| json!({ "type": "text", "content": text })).collect();
            self.text("gen_ai.system_instructions", &parts.to_string());
        }
        let asked: Value = rest.into_iter().map(in_parts).collect();
        self.text("gen_ai.input.messages", &asked.to_string());
        let mut said = in_parts(&answer);
        said["finish_reason"] = entry.finish_reason.as_deref().unwrap_or("stop").into();
        self.text("gen_ai.output.messages", &json!([said]).to_string());
    }

    /// Adds a message encoded in names.
    fn message(&mut self, prefix: &str, message: &Value) {
        self.text(&format!("{prefix}.role"), role(message));
        if let Some(text) = conversation::text(message) {
            self.text(&format!("{prefix}.content"), &text);
        }
        if let Some(id) = message.get("tool_call_id").and_then(Value::as_str) {
            self.text(&format!("{prefix}.tool_call_id"), id);
        }
        for (index, call) in conversation::calls(message).iter().enumerate() {
            let prefix = format!("{prefix}.tool_calls.{index}.tool_call");
            self.text(&format!("{prefix}.id"), &call.id);
            self.text(&format!("{prefix}.function.name"), &call.name);
            self.text(&format!("{prefix}.function.arguments"), &arguments(call));
        }
    }
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("user")
}

/// Returns a message with parts.
fn in_parts(message: &Value) -> Value {
    let text = conversation::text(message).unwrap_or_default();
    let mut parts = Vec::new();
    if role(message) == "tool" {
        let id = message.get("tool_call_id");
        parts.push(json!({ "type": "tool_call_response", "id": id, "response": text }));
    } else if !text.is_empty() {
        parts.push(json!({ "type": "text", "content": text }));
    }
    for call in conversation::calls(message) {
        parts.push(json!({
            "type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments,
        }));
    }
    json!({ "role": role(message), "parts": parts })
}
