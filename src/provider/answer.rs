//! The content of an answer, whatever its provider: its text, its tokens, its tool calls.

use serde_json::Value;

use super::json_view::JsonView;
use super::lone_half::parse_lossy;

/// Deepest nesting of a tool call's arguments. The reader of recordings stops at 128 levels, some
/// of which belong to the file itself.
const DEPTH_LIMIT: usize = 100;

/// The content of an answer, read from a complete body or a whole stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The text of the first choice.
    pub content: String,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// Token counts, if the answer has them.
    pub usage: Option<TokenUsage>,
    /// The provider's own word for why the answer ended.
    pub finish_reason: Option<String>,
    /// The tool calls of the first choice.
    pub tool_calls: Vec<ToolCall>,
    /// Embedding vectors, for operations that return them as numbers.
    pub embeddings: Vec<Vec<f64>>,
    /// The cost in US dollars that the answer states, as OpenRouter and Perplexity do.
    pub cost_usd: Option<f64>,
}

impl Answer {
    /// Returns an answer that only counts the tokens of a prompt.
    pub(super) fn of_counted_prompt(tokens: u64) -> Self {
        let usage =
            TokenUsage { prompt_tokens: tokens, total_tokens: tokens, ..TokenUsage::default() };
        Self { usage: Some(usage), ..Self::default() }
    }
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// All input tokens, cached ones included.
    pub prompt_tokens: u64,
    /// All output tokens, reasoning included.
    pub completion_tokens: u64,
    /// Their sum, or the provider's own total.
    pub total_tokens: u64,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// Input tokens read from a cache.
    pub cached_tokens: u64,
    /// Input tokens written to a cache.
    pub cache_write_tokens: u64,
}

impl TokenUsage {
    /// Splits the input tokens into three parts: plain ones, those read from a cache, and those
    /// written to one. Their sum is always that of all input tokens, even if the counts contradict
    /// each other.
    pub fn input_parts(&self) -> (u64, u64, u64) {
        let cached = self.cached_tokens.min(self.prompt_tokens);
        let written = self.cache_write_tokens.min(self.prompt_tokens - cached);
        (self.prompt_tokens - cached - written, cached, written)
    }
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The provider's id; `""` if it gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object, or `{"_raw": "…"}` if they are not one.
    pub arguments: Value,
}

impl ToolCall {
    /// A tool call whose arguments came as text, as OpenAI sends them. An empty text means no
    /// arguments. A text that is not a JSON object is kept under `_raw`, so that a broken call
    /// stays visible.
    pub(super) fn from_text(id: &str, name: &str, arguments: &str) -> Self {
        let arguments = match parse_lossy(arguments) {
            Some(object @ Value::Object(_)) if nesting_depth(&object) <= DEPTH_LIMIT => object,
            _ if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
            _ => serde_json::json!({ "_raw": arguments }),
        };
        Self { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    /// A tool call whose arguments came as a JSON value, as Anthropic and Gemini
    /// send them.
    pub(super) fn from_doc<D: JsonView>(id: &str, name: &str, arguments: Option<&D>) -> Self {
        let Some(arguments) = arguments.filter(|arguments| !arguments.is_nothing()) else {
            return Self::from_text(id, name, "");
        };
        if let Some(text) = arguments.as_text() {
            return Self::from_text(id, name, &text);
        }
        let arguments = arguments.to_owned_value();
        if arguments.is_object() && nesting_depth(&arguments) <= DEPTH_LIMIT {
            return Self { id: id.to_owned(), name: name.to_owned(), arguments };
        }
        Self::from_text(id, name, &arguments.to_string())
    }
}

/// How deep arrays and objects nest.
pub(super) fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting_depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(nesting_depth).max().unwrap_or(0),
        _ => 0,
    }
}
