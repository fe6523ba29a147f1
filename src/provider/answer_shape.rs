//! Where a complete answer says what: how it is changed so that it was cut off by its
//! length, and where its first tool call stands.

use serde_json::{Map, Value, json};

use super::Answer;

/// A shape of complete answers.
pub struct AnswerShape {
    /// Puts the word for a length that was reached where the answer says why it ended.
    pub(super) end_by_length: fn(&mut Value),
    /// Where the tokens of the output are counted.
    pub(super) output_counts: &'static [&'static str],
    /// Puts a text in the place of what is said.
    pub(super) say: fn(&str, &mut Value),
    /// The first tool call that asks the program to do something.
    pub(super) first_call: fn(&mut Value) -> Option<CallSlot<'_>>,
    /// Whether a stream sends a call's arguments, an object here, as text in pieces.
    pub(super) arguments_in_pieces: bool,
}

/// A tool call within an answer.
pub struct CallSlot<'a> {
    /// What holds its name.
    pub object: &'a mut Map<String, Value>,
    /// The member that holds its arguments.
    pub arguments: &'static str,
}

impl<'a> CallSlot<'a> {
    /// The call that is this object; `None` where it is none.
    pub(super) fn new(call: &'a mut Value, arguments: &'static str) -> Option<Self> {
        Some(Self { object: call.as_object_mut()?, arguments })
    }
}

impl AnswerShape {
    /// An answer of text without tool calls.
    pub(super) const TEXT: Self = Self {
        end_by_length: |_| {},
        output_counts: &[],
        say: |_, _| {},
        first_call: |_| None,
        arguments_in_pieces: false,
    };

    /// Makes of an answer one that was cut off by its length, and cost no output. `content`
    /// takes the place of its text; `answer` is what it said.
    pub fn cut_off(&self, content: Option<&str>, answer: &Answer, body: &mut Value) {
        (self.end_by_length)(body);
        self.uncount(body);
        let prompt = answer.usage.unwrap_or_default().prompt_tokens;
        for at in ["/usage/total_tokens", "/x_groq/usage/total_tokens", "/usage/totalTokens"] {
            put(body, at, json!(prompt));
        }
        put(body, "/usageMetadata/totalTokenCount", json!(prompt));
        if let Some(content) = content {
            (self.say)(content, body);
        }
    }

    /// The first tool call of an answer that asks the program to do something.
    pub fn first_call<'a>(&self, body: &'a mut Value) -> Option<CallSlot<'a>> {
        (self.first_call)(body)
    }

    /// Whether a stream sends a call's arguments, an object in the complete answer, as text
    /// in pieces.
    pub fn arguments_in_pieces(&self) -> bool {
        self.arguments_in_pieces
    }

    /// Makes the counts of output zero, where there are any.
    fn uncount(&self, body: &mut Value) {
        for at in self.output_counts {
            put(body, at, json!(0));
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
            for item in items(body, list).filter(|item| item.get(name).is_some()) {
                item[name] = json!(0);
            }
        }
    }
}

/// Writes over a value that is there.
pub(super) fn put(body: &mut Value, at: &str, value: Value) {
    if let Some(slot) = body.pointer_mut(at) {
        *slot = value;
    }
}

/// Puts a block in the place of the texts among the blocks of a list: of the first of
/// them, or, where there is none, behind what was thought.
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

/// The elements of a list.
pub(super) fn items<'a>(value: &'a mut Value, at: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(at).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Whether a member is this word.
pub(super) fn has_word(value: &Value, name: &str, word: &str) -> bool {
    value.get(name).and_then(Value::as_str) == Some(word)
}

/// Whether a list stands there.
pub(super) fn is_list(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_array)
}

/// Whether an object stands there.
pub(super) fn is_map(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_object)
}

/// Whether a text stands there.
pub(super) fn is_text(body: &Value, at: &str) -> bool {
    body.pointer(at).is_some_and(Value::is_string)
}
