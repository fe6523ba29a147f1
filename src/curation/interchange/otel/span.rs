//! Converts a span to a call.

use serde_json::{Map, Value};

use super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, ResponseContent, SkippedItem,
    TextAnswer, TextExchange,
};
use super::attribute::{SpanAttributes, items, number};
use super::{message, raw};
use loomrec_provider::{Answer, TokenUsage};
use loomrec_recording::{ResponseEnd, timestamp};

/// The address of a chat that is made from text.
const URL: &str = "https://api.openai.com/v1/chat/completions";

/// The relevant parts of a span.
struct Span {
    place: String,
    attributes: SpanAttributes,
    events: Vec<(String, SpanAttributes)>,
    started: Option<String>,
    duration_ms: Option<f64>,
    failed: bool,
}

/// Returns the item of a span.
pub(super) fn item(members: &Map<String, Value>, place: String) -> FoundItem {
    let span = Span::of(members, place.clone());
    if let Err(reason) = span.is_call() {
        return FoundItem::Left(SkippedItem::no_call(place, reason));
    }
    span.item().unwrap_or_else(|reason| FoundItem::Left(SkippedItem::damaged(place, reason)))
}

impl Span {
    fn of(members: &Map<String, Value>, place: String) -> Self {
        let either = |names: [&str; 3]| names.iter().find_map(|name| members.get(*name));
        let start = either(["startTimeUnixNano", "start_time_unix_nano", "start_time"]);
        let end = either(["endTimeUnixNano", "end_time_unix_nano", "end_time"]);
        let (from, to) = (start.and_then(micros), end.and_then(micros));
        let duration = from.zip(to).and_then(|(from, to)| to.checked_sub(from));
        #[expect(clippy::cast_precision_loss, reason = "a duration of some minutes")]
        let duration_ms = duration.filter(|micros| *micros >= 0).map(|micros| micros as f64 / 1e3);
        let events = members.get("events").and_then(Value::as_array);
        let events = events.into_iter().flatten().map(|event| {
            let name = event.get("name").and_then(Value::as_str).unwrap_or_default();
            (name.to_owned(), SpanAttributes::of(event.get("attributes")))
        });
        let status = members.get("status");
        let code = status.and_then(|status| status.get("code").or(status.get("status_code")));
        Self {
            place,
            attributes: SpanAttributes::of(members.get("attributes")),
            events: events.collect(),
            started: from.map(timestamp::timestamp),
            duration_ms,
            failed: match code {
                Some(Value::String(code)) => code.contains("ERROR"),
                Some(code) => number(code) == Some(2),
                None => false,
            },
        }
    }

    fn item(self) -> Result<FoundItem, String> {
        let (output, said) = raw::answered(&self.attributes).unzip();
        let asked = raw::asked(&self.attributes, output.as_ref());
        let messages = message::read_messages(&self.attributes, &self.events);
        let status = self.attributes.count(&["http.response.status_code", "http.status_code"]);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let whole = output.filter(raw::is_whole);
        if let (Some(asked), Some(_), Some(body)) = (&asked, &whole, said)
            && (!self.failed || status.is_some())
        {
            let mut asked = asked.clone();
            asked.make_complete();
            return Ok(self.exchange(asked, body, status.unwrap_or(200)));
        }
        if self.failed {
            let reason = "it failed, and keeps no answer";
            return Ok(FoundItem::Left(SkippedItem::no_call(self.place, reason)));
        }
        let mut lost = vec!["answers as they were sent: they are built from the text of spans"];
        let request = match asked {
            Some(asked) => request(asked),
            None => {
                lost.push("requests as they were sent: they are built from the text of spans");
                self.request(&messages)?
            }
        };
        let answer = self.answer(messages)?;
        Ok(FoundItem::Words(Box::new(TextExchange {
            chaos: None,
            place: self.place,
            request,
            said: TextAnswer::Answer(answer),
            own: None,
            started: self.started,
            duration_ms: self.duration_ms,
            lost,
        })))
    }

    /// Whether it is the span of a model call.
    fn is_call(&self) -> Result<(), String> {
        const CALLS: [&str; 5] =
            ["chat", "text_completion", "completion", "generate_content", "embeddings"];
        let kind = self.attributes.text(&["openinference.span.kind", "traceloop.span.kind"]);
        let operation = self.attributes.text(&["gen_ai.operation.name"]);
        let requests = ["gen_ai.request.model", "llm.model_name", "llm.request.type"];
        let is_call = match (kind, operation) {
            (Some("LLM" | "EMBEDDING"), _) => true,
            (_, Some(operation)) => CALLS.contains(&operation),
            (None, None) => self.attributes.get(&requests).is_some(),
            (Some(_), None) => false,
        };
        if is_call {
            return Ok(());
        }
        let what: String = kind.or(operation).unwrap_or("another").chars().take(40).collect();
        Err(format!("not a call of a model (a span of the kind {what})"))
    }

    fn exchange(self, asked: raw::SpanRequest, body: String, status: u16) -> FoundItem {
        let response = ForeignResponse {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            content: ResponseContent::Plain(body.into()),
            size: None,
            end: ResponseEnd::Complete,
        };
        FoundItem::Exchange(Box::new(ForeignExchange {
            place: self.place,
            request: request(asked),
            response,
            started: self.started,
            first_ms: None,
            duration_ms: self.duration_ms,
            own: None,
            lost: Vec::new(),
        }))
    }

    /// Returns a request made from a span's attributes.
    fn request(&self, messages: &message::SpanMessages) -> Result<ForeignRequest, String> {
        let provider = raw::provider(&self.attributes);
        if !matches!(provider.as_deref(), None | Some("openai"))
            || raw::is_embedding(&self.attributes)
        {
            return Err(format!(
                "it does not hold the request, which cannot be built from text for {}",
                provider.as_deref().unwrap_or("this call").chars().take(40).collect::<String>()
            ));
        }
        if messages.asked.is_empty() {
            return Err("it does not hold what was asked".to_owned());
        }
        if messages.has_other_questions {
            return Err("its request holds more than text and tool calls".to_owned());
        }
        let Some(model) = self.attributes.text(&["gen_ai.request.model", "llm.model_name"]) else {
            return Err("it does not name the model".to_owned());
        };
        let mut body = Map::from_iter([
            ("messages".to_owned(), Value::Array(messages.asked.clone())),
            ("model".to_owned(), model.into()),
        ]);
        if let Some(Value::Object(more)) = self.attributes.json(&["llm.invocation_parameters"]) {
            let more = more.into_iter().filter(|(name, _)| name != "messages");
            body.extend(more);
        }
        for name in ["temperature", "top_p", "max_tokens", "seed"] {
            if let Some(value) = self.attributes.get(&[&format!("gen_ai.request.{name}")]) {
                body.insert(name.to_owned(), value.clone());
            }
        }
        let tools = self.attributes.list("llm.tools");
        let schema = |tool: &Value| -> Option<Value> {
            match tool.pointer("/tool/json_schema")? {
                Value::String(text) => serde_json::from_str(text).ok(),
                schema => Some(schema.clone()),
            }
        };
        let tools: Vec<Value> = tools.iter().filter_map(schema).collect();
        if !tools.is_empty() && !body.contains_key("tools") {
            body.insert("tools".to_owned(), tools.into());
        }
        Ok(ForeignRequest {
            method: "POST".to_owned(),
            url: URL.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Value::Object(body).to_string().into(),
            size: None,
        })
    }

    fn answer(&self, messages: message::SpanMessages) -> Result<Answer, String> {
        let attributes = &self.attributes;
        let (content, tool_calls) = match messages.answer {
            Some(_) if messages.has_other_answers => {
                return Err("its answer holds more than text and tool calls".to_owned());
            }
            Some(said) => said,
            None => match attributes.text(&["output.value"]) {
                // A value of a shape that is not known is not what the model said.
                Some(text) if SpanAttributes::is_prose(text) => (text.to_owned(), Vec::new()),
                _ => return Err("it does not hold what was answered".to_owned()),
            },
        };
        let reasons = attributes.json(&["gen_ai.response.finish_reasons"]);
        let reason = reasons.as_ref().map(items).unwrap_or_default().into_iter().next();
        let model = attributes.text(&["gen_ai.response.model", "llm.model_name"]);
        Ok(Answer {
            content,
            tool_calls,
            model: model.map(str::to_owned),
            usage: usage(attributes),
            finish_reason: reason
                .and_then(|word| word.as_str().map(str::to_owned))
                .or(messages.finish),
            embeddings: Vec::new(),
        })
    }
}

fn request(asked: raw::SpanRequest) -> ForeignRequest {
    let raw::SpanRequest { method, url, headers, body } = asked;
    ForeignRequest { method, url, headers, body: body.into(), size: None }
}

fn usage(attributes: &SpanAttributes) -> Option<TokenUsage> {
    let count = |names: &[&str]| attributes.count(names);
    let prompt = count(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ]);
    let completion = count(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ]);
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let total = count(&["llm.token_count.total", "llm.usage.total_tokens"]);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or_else(|| prompt.saturating_add(completion)),
        ..TokenUsage::default()
    })
}

/// Reads a time in nanoseconds since 1970, or as text.
fn micros(value: &Value) -> Option<i64> {
    if let Some(nanos) = number(value) {
        return i64::try_from(nanos / 1000).ok().filter(|micros| *micros < 253_402_300_800_000_000);
    }
    timestamp::micros(&timestamp::read(value.as_str()?)?)
}
