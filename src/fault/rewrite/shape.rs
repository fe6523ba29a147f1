//! Whose JSON a complete answer is.

use serde_json::Value;

use crate::provider::Operation;

/// A shape of complete answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerShape {
    /// Chat completions, and the legacy ones.
    Choices,
    Responses,
    Messages,
    Gemini,
    Converse,
    /// Cohere's second version.
    Cohere,
    /// Cohere's first version, and Command R at Bedrock.
    CohereText,
    OllamaChat,
    OllamaGenerate,
    /// Llama at Bedrock.
    Llama,
    /// Titan at Bedrock.
    Titan,
    /// Mistral's older models at Bedrock.
    Outputs,
}

impl AnswerShape {
    /// The shape of this answer; `None` where it is none that says something.
    pub(super) fn of(operation: Operation, body: &Value) -> Option<Self> {
        let is_list = |at: &str| body.pointer(at).is_some_and(Value::is_array);
        let is_map = |at: &str| body.pointer(at).is_some_and(Value::is_object);
        let is_text = |at: &str| body.pointer(at).is_some_and(Value::is_string);
        let (shape, is) = match operation {
            Operation::ChatCompletions | Operation::Completions => {
                (Self::Choices, is_list("/choices"))
            }
            Operation::Responses => (Self::Responses, is_list("/output")),
            Operation::Messages => (Self::Messages, is_list("/content")),
            Operation::GenerateContent => (Self::Gemini, is_list("/candidates")),
            Operation::Converse => (Self::Converse, is_map("/output/message")),
            Operation::CohereChat if is_map("/message") => (Self::Cohere, true),
            Operation::CohereChat => (Self::CohereText, is_text("/text")),
            Operation::OllamaChat => (Self::OllamaChat, is_map("/message")),
            Operation::OllamaGenerate => (Self::OllamaGenerate, is_text("/response")),
            Operation::Invoke if is_list("/content") => (Self::Messages, true),
            Operation::Invoke if is_map("/output/message") => (Self::Converse, true),
            Operation::Invoke if is_list("/choices") => (Self::Choices, true),
            Operation::Invoke if is_text("/text") => (Self::CohereText, true),
            Operation::Invoke if is_text("/generation") => (Self::Llama, true),
            Operation::Invoke if is_list("/results") => (Self::Titan, true),
            Operation::Invoke => (Self::Outputs, is_list("/outputs")),
            _ => return None,
        };
        is.then_some(shape)
    }
}

/// The elements of a list.
pub(super) fn items<'a>(value: &'a mut Value, at: &str) -> impl Iterator<Item = &'a mut Value> {
    value.pointer_mut(at).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Whether a member says this.
pub(super) fn says(value: &Value, name: &str, word: &str) -> bool {
    value.get(name).and_then(Value::as_str) == Some(word)
}
