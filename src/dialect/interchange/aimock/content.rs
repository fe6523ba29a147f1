//! What a request says, as far as rules look at it, and whether a fixture's conditions hold for it.

use serde_json::Value;

use super::fixture::FixtureMatch;
use loomrec_provider::RecognisedCall;

/// The parts of a request that rules check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestContent {
    /// The requested model; `""` if there is none.
    pub model: String,
    /// The text of the last user message that has any.
    pub user: Option<String>,
    /// The system messages, one per line.
    pub system: String,
    /// The last message, if it is a tool's result: the id of the call, and the text.
    pub result: Option<(String, String)>,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// How many messages are the model's.
    pub turns: usize,
    /// Whether there is a tool result after the last user message.
    pub has_tool_result: bool,
    /// The type of the requested response format.
    pub response_format: Option<String>,
    /// The texts to embed.
    pub input: Option<String>,
}

/// How a fixture's `turnIndex` is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRule {
    /// As a condition.
    Strict,
    /// As a preference among fixtures that match, which the caller applies.
    Preference,
}

impl RequestContent {
    /// Reads the content of a request; `None` if it is neither a conversation nor texts to embed.
    pub fn read(call: &RecognisedCall, body: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(body).ok()?;
        let model = call.model.clone().unwrap_or_default();
        let format = json.get("response_format").and_then(|format| format.get("type")?.as_str());
        let response_format = format.map(str::to_owned);
        if call.operation.embeds_input() {
            let input = match json.get("input")? {
                Value::String(text) => text.clone(),
                Value::Array(texts) => {
                    texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
                }
                _ => return None,
            };
            return Some(Self { model, input: Some(input), ..Self::default() });
        }
        let talk = call.operation.read_conversation(body)?;
        let named = |tool: &Value| {
            tool.get("function").or_else(|| tool.get("custom"))?.get("name").cloned()
        };
        let name = |tool: &Value| Some(named(tool)?.as_str()?.to_owned());
        Some(Self {
            model,
            user: talk.last_user(),
            system: talk.system_text(),
            result: talk.last_result().map(|(id, text)| (id.to_owned(), text)),
            tools: talk.tools.iter().filter_map(name).collect(),
            turns: talk.turn_count(),
            has_tool_result: talk.has_tool_result(),
            response_format,
            input: None,
        })
    }
}

impl FixtureMatch {
    /// Whether a fixture answers a request, apart from its sequence index.
    pub fn is_match(&self, asked: &RequestContent, turns: TurnRule) -> bool {
        let within = |needle: &Option<String>, text: Option<&String>| match needle {
            None => true,
            Some(needle) => text.is_some_and(|text| text.contains(needle.as_str())),
        };
        let endpoint = match self.endpoint.as_deref() {
            None => true,
            Some("chat") => asked.input.is_none(),
            Some("embedding") => asked.input.is_some(),
            Some(_) => false,
        };
        let is_turn =
            |turn| turns == TurnRule::Preference || usize::try_from(turn) == Ok(asked.turns);
        let result = asked.result.as_ref();
        let id = self.tool_call_id.as_ref();
        let format = self.response_format.as_ref();
        endpoint
            // The context is in a header, which is not kept.
            && self.context.is_none()
            && self.model.as_ref().is_none_or(|model| is_model(&asked.model, model))
            && self.turn.is_none_or(is_turn)
            && self.has_tool_result.is_none_or(|has| has == asked.has_tool_result)
            && within(&self.user, asked.user.as_ref())
            && within(&self.input, asked.input.as_ref())
            && self.system.iter().all(|needle| asked.system.contains(needle.as_str()))
            && id.is_none_or(|id| result.is_some_and(|(own, _)| own == id))
            && within(&self.tool_result, result.map(|(_, text)| text))
            && self.tool_name.as_ref().is_none_or(|name| asked.tools.contains(name))
            && format.is_none_or(|format| asked.response_format.as_ref() == Some(format))
    }
}

/// Whether a model has this name, or this name followed by a date.
fn is_model(asked: &str, model: &str) -> bool {
    let Some(rest) = asked.strip_prefix(model) else { return false };
    let mut rest = rest.chars();
    match rest.next() {
        None => true,
        Some('-') => rest.next().is_some_and(|first| first.is_ascii_digit()),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_known_with_a_date_behind_it_alone() {
        assert!(is_model("gpt-4o", "gpt-4o") && is_model("gpt-4o-2024", "gpt-4o"));
        assert!(!is_model("gpt-4o-mini", "gpt-4o") && !is_model("gpt-4", "gpt-4o"));
    }
}
