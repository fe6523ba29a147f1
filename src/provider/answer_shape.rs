//! The places of content in a complete answer: how to change the answer into one that was cut off
//! by its length, and where its first tool call is.

use serde_json::{Map, Value, json};

use super::Answer;

/// The structure of an operation's complete answers.
pub struct AnswerShape {
    /// Sets the finish reason to the word for a length that was reached.
    pub(super) end_by_length: fn(&mut Value),
    /// The places of the output token counts.
    pub(super) output_counts: &'static [&'static str],
    /// Replaces the text of the answer.
    pub(super) replace_text: fn(&str, &mut Value),
    /// Finds the first tool call that the program must execute.
    pub(super) first_call: fn(&mut Value) -> Option<CallSlot<'_>>,
    /// Whether a stream sends a call's arguments, which are an object here, as text in pieces.
    pub(super) arguments_in_pieces: bool,
}

/// A tool call within an answer.
pub struct CallSlot<'a> {
    /// The object that holds its name.
    pub object: &'a mut Map<String, Value>,
    /// The member that holds its arguments.
    pub arguments: &'static str,
}

impl<'a> CallSlot<'a> {
    /// The call in this value; `None` if it is not an object.
    pub(super) fn new(call: &'a mut Value, arguments: &'static str) -> Option<Self> {
        Some(Self { object: call.as_object_mut()?, arguments })
    }
}

impl AnswerShape {
    /// A text answer without tool calls.
    pub(super) const TEXT: Self = Self {
        end_by_length: |_| {},
        output_counts: &[],
        replace_text: |_, _| {},
        first_call: |_| None,
        arguments_in_pieces: false,
    };

    /// Changes an answer into one that was cut off by its length and has no output tokens.
    /// `content` replaces its text; `answer` is its original content.
    pub fn cut_off(&self, content: Option<&str>, answer: &Answer, body: &mut Value) {
        (self.end_by_length)(body);
        self.clear_output_counts(body);
        let prompt = answer.usage.unwrap_or_default().prompt_tokens;
        for at in ["/usage/total_tokens", "/x_groq/usage/total_tokens", "/usage/totalTokens"] {
            replace_value(body, at, json!(prompt));
        }
        replace_value(body, "/usageMetadata/totalTokenCount", json!(prompt));
        if let Some(content) = content {
            (self.replace_text)(content, body);
        }
    }

    /// Finds the first tool call that the program must execute.
    pub fn first_call<'a>(&self, body: &'a mut Value) -> Option<CallSlot<'a>> {
        (self.first_call)(body)
    }

    /// Whether a stream sends a call's arguments, which are an object in the complete answer, as
    /// text in pieces.
    pub fn arguments_in_pieces(&self) -> bool {
        self.arguments_in_pieces
    }

    /// Sets the output token counts to zero, where they exist.
    fn clear_output_counts(&self, body: &mut Value) {
        for at in self.output_counts {
            replace_value(body, at, json!(0));
        }
        for at in [
            "/usage/completion_tokens_details",
            "/x_groq/usage/completion_tokens_details",
            "/usage/output_tokens_details",
        ] {
            if let Some(Value::Object(details)) = body.pointer_mut(at) {
                for count in details.values_mut().filter(|count| count.is_number()) {
                    *count = json!(0);
                }
            }
        }
        for (list, name) in
            [("/usageMetadata/candidatesTokensDetails", "tokenCount"), ("/results", "tokenCount")]
        {
            for item in object_items(body, list).filter(|item| item.get(name).is_some()) {
                item[name] = json!(0);
            }
        }
    }
}

/// Replaces a value, if it exists.
pub(super) fn replace_value(body: &mut Value, at: &str, value: Value) {
    if let Some(slot) = body.pointer_mut(at) {
        *slot = value;
    }
}

/// Replaces the text blocks in a list by one block. It takes the place of the first of them, or
/// follows the thoughts at the beginning if there is none.
pub(super) fn replace_texts(
    body: &mut Value,
    at: &str,
    text: Value,
    is_text: impl Fn(&Value) -> bool,
    is_thought: impl Fn(&Value) -> bool,
) {
    let Some(Value::Array(list)) = body.pointer_mut(at) else { return };
    let first = list.iter().position(&is_text);
    let place = first.unwrap_or_else(|| list.iter().take_while(|block| is_thought(block)).count());
    list.retain(|block| !is_text(block));
    list.insert(place, text);
}

/// The objects in a list. Other elements are skipped: they have no members to set.
pub(super) fn object_items<'a>(
    value: &'a mut Value,
    at: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let list = value.pointer_mut(at).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter(|item| item.is_object())
}

/// Whether a member is this string.
pub(super) fn has_word(value: &Value, name: &str, word: &str) -> bool {
    value.get(name).and_then(Value::as_str) == Some(word)
}

/// Whether there is a list at this place.
pub(super) fn is_list(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_array)
}

/// Whether there is an object at this place.
pub(super) fn is_map(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_object)
}

/// Whether there is a string at this place.
pub(super) fn is_text(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_string)
}
