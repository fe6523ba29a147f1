//! A fixture: its rule and its answer.

use serde_json::{Map, Value};

use super::super::body_presence::holds_body;
use super::super::exchange::TextAnswer;
use super::play::{FixturePace, read_rates, unused_fields};
use loomrec_fault::ChaosRates;
use loomrec_provider::conversation;
use loomrec_provider::{Answer, TokenUsage, ToolCall};

/// The conditions under which a fixture answers. A field that is `None` is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FixtureMatch {
    /// A substring of the user's last message.
    pub user: Option<String>,
    /// Substrings of the system prompt. All must occur.
    pub system: Vec<String>,
    /// A substring of the text to embed.
    pub input: Option<String>,
    /// The id of the tool call that the last message answers.
    pub tool_call_id: Option<String>,
    /// A substring of the tool's result in the last message.
    pub tool_result: Option<String>,
    /// The name of a tool that is offered.
    pub tool_name: Option<String>,
    /// The model, with or without a date.
    pub model: Option<String>,
    /// The type of the requested response format.
    pub response_format: Option<String>,
    /// The kind of request: `chat` or `embedding`; others are not known here.
    pub endpoint: Option<String>,
    /// How many calls were answered by fixtures with the same other conditions.
    pub sequence: Option<u64>,
    /// How many messages of the request are the model's.
    pub turn: Option<u64>,
    /// Whether there is a tool result after the last user message.
    pub has_tool_result: Option<bool>,
    /// The context that a header of the request names.
    pub context: Option<String>,
}

/// A fixture.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignFixture {
    /// When it answers.
    pub rule: FixtureMatch,
    /// Its answer; the error says why it cannot be represented as text.
    pub said: Result<TextAnswer, String>,
    /// Text and tool calls in the order in which they are streamed, if the fixture gives one.
    pub blocks: Vec<FixtureBlock>,
    /// The rates of chaos.
    pub chaos: Option<ChaosRates>,
    /// How its stream is paced and cut.
    pub pace: FixturePace,
    /// The fields that change nothing in an answer of loomrec.
    pub unplayed: Vec<String>,
    /// How long the recorded call took.
    pub duration_ms: Option<f64>,
    /// Whether the request had a system prompt or tools, of which the fixture keeps hashes.
    pub had_more: bool,
    /// The parts of the answer that an import loses.
    pub lost: Vec<&'static str>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum FixtureBlock {
    /// Text.
    Text(String),
    /// A tool call.
    Call(ToolCall),
}

impl ForeignFixture {
    /// Reads a fixture of a file.
    ///
    /// # Errors
    /// If it has the wrong shape. The error says what is wrong.
    pub fn read(value: &Value) -> Result<Self, String> {
        let fixture = value.as_object().ok_or("it is not an object")?;
        let rule = match fixture.get("match") {
            Some(Value::Object(rule)) => FixtureMatch::from_rule(rule)?,
            _ => return Err("missing field `match`, an object".to_owned()),
        };
        let Some(Value::Object(response)) = fixture.get("response") else {
            return Err("missing field `response`, an object".to_owned());
        };
        let mut lost = Vec::new();
        let said = read_answer(response, &mut lost)?;
        let timings = fixture.get("recordedTimings");
        for cut in ["truncateAfterChunks", "disconnectAfterMs"] {
            if fixture.get(cut).is_some_and(|value| !value.is_null()) {
                lost.push("where streams are cut: see loomrec's faults");
            }
        }
        Ok(Self {
            rule,
            said,
            blocks: read_blocks(response),
            chaos: fixture.get("chaos").map(read_rates).transpose()?,
            pace: FixturePace::read(fixture)?,
            unplayed: unused_fields(fixture, response),
            duration_ms: timings.and_then(|timings| timings.get("totalDurationMs")?.as_f64()),
            had_more: fixture.get("metadata").is_some_and(|metadata| !metadata.is_null()),
            lost,
        })
    }
}

impl FixtureMatch {
    fn from_rule(rule: &Map<String, Value>) -> Result<Self, String> {
        let text = |name: &str| match rule.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`match.{name}` is not text")),
        };
        let number = |name: &str| match rule.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64();
                number.map(Some).ok_or_else(|| format!("`match.{name}` is not a whole number"))
            }
        };
        let system = match rule.get("systemMessage") {
            Some(Value::Array(texts)) => {
                let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().ok_or("`match.systemMessage` holds more than texts")?
            }
            _ => text("systemMessage")?.into_iter().collect(),
        };
        Ok(Self {
            user: text("userMessage")?,
            system,
            input: text("inputText")?,
            tool_call_id: text("toolCallId")?,
            tool_result: text("toolResultContains")?,
            tool_name: text("toolName")?,
            model: text("model")?,
            response_format: text("responseFormat")?,
            endpoint: text("endpoint")?,
            sequence: number("sequenceIndex")?,
            turn: number("turnIndex")?,
            has_tool_result: rule.get("hasToolResult").and_then(Value::as_bool),
            context: text("context")?,
        })
    }
}

/// Reads the answer of a fixture. The inner error says why it cannot be represented as text.
fn read_answer(
    response: &Map<String, Value>,
    lost: &mut Vec<&'static str>,
) -> Result<Result<TextAnswer, String>, String> {
    let text = |name: &str| response.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(error) = response.get("error") {
        lost.push("the whole of error bodies: they are made of type and message");
        return Ok(self::read_error(error, response.get("status")));
    }
    let mut answer = Answer {
        model: text("model"),
        finish_reason: text("finishReason"),
        usage: response.get("usage").and_then(read_usage),
        ..Answer::default()
    };
    for member in ["reasoning", "redactedThinking", "webSearches"] {
        if response.contains_key(member) {
            lost.push("the reasoning and the searches of models");
        }
    }
    if let Some(embedding) = response.get("embedding") {
        let numbers = embedding.as_array().ok_or("`response.embedding` is not a list")?;
        let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
        answer.embeddings = vec![numbers.ok_or("`response.embedding` holds more than numbers")?];
        return Ok(Ok(TextAnswer::Answer(answer)));
    }
    if let Some(Value::Object(heard)) = response.get("transcription") {
        answer.content = heard.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Ok(Ok(TextAnswer::Answer(answer)));
    }
    let blocks = response.get("blocks").and_then(Value::as_array);
    let (content, calls) = (response.get("content"), response.get("toolCalls"));
    if calls.is_some_and(|calls| !calls.is_array() && !calls.is_null()) {
        return Ok(Err("its tool calls are no list".to_owned()));
    }
    let is_value = |content: &&Value| !content.is_null() && !content.is_string();
    if content.filter(is_value).is_some_and(|content| !holds_body(content)) {
        return Ok(Err("its content is no text".to_owned()));
    }
    if content.is_none() && calls.is_none() && blocks.is_none() {
        let kind = response.keys().next().map_or("nothing", String::as_str);
        let kind: String = kind.chars().take(40).collect();
        return Ok(Err(format!("its answer is not text ({kind}): record it through loomrec")));
    }
    for block in self::read_blocks(response) {
        match block {
            FixtureBlock::Text(text) => answer.content.push_str(&text),
            FixtureBlock::Call(call) => answer.tool_calls.push(call),
        }
    }
    if blocks.is_some_and(|blocks| !blocks.is_empty()) {
        lost.push("the order of text and tool calls");
        return Ok(Ok(TextAnswer::Answer(answer)));
    }
    answer.content = match content {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let calls = calls.and_then(Value::as_array).into_iter().flatten();
    answer.tool_calls = calls.map(call).collect();
    Ok(Ok(TextAnswer::Answer(answer)))
}

/// Reads the parts of an answer in their order. Empty if the fixture gives no order.
fn read_blocks(response: &Map<String, Value>) -> Vec<FixtureBlock> {
    let blocks = response.get("blocks").and_then(Value::as_array).into_iter().flatten();
    let block = |block: &Value| match block.get("type").and_then(Value::as_str) {
        Some("text") => {
            let text = block.get("text").and_then(Value::as_str);
            FixtureBlock::Text(text.unwrap_or_default().to_owned())
        }
        _ => FixtureBlock::Call(call(block)),
    };
    blocks.map(block).collect()
}

fn read_error(error: &Value, status: Option<&Value>) -> Result<TextAnswer, String> {
    let word = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let status = status.map_or(Some(500), Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let Some(status) = status.filter(|status| (400..600).contains(status)) else {
        return Err("its error has a status that no error has".to_owned());
    };
    let kind = word("code").or_else(|| word("type"));
    Ok(TextAnswer::Error { status, kind, message: word("message") })
}

fn call(call: &Value) -> ToolCall {
    let word = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    conversation::tool_call(word("id"), word("name"), call.get("arguments"))
}

/// Reads token counts, under the names that any provider uses.
fn read_usage(usage: &Value) -> Option<TokenUsage> {
    let usage = usage.as_object()?;
    let count = |names: &[&str]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    let prompt = count(&["prompt_tokens", "input_tokens", "promptTokenCount"]);
    let completion = count(&["completion_tokens", "output_tokens", "candidatesTokenCount"]);
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let total = count(&["total_tokens", "totalTokenCount"]);
    let inner = |outer: &str, name: &str| {
        usage.get(outer).and_then(|details| details.get(name)?.as_u64()).unwrap_or(0)
    };
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or_else(|| prompt.saturating_add(completion)),
        reasoning_tokens: inner("completion_tokens_details", "reasoning_tokens"),
        cached_tokens: inner("prompt_tokens_details", "cached_tokens"),
        cache_write_tokens: 0,
    })
}
