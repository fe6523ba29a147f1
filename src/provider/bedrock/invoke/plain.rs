//! The formats of Bedrock's models that only continue a text: Llama, Titan, Mistral, Cohere's
//! Command, AI21's, the first Claude; and the vectors of Titan and Cohere.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::json_view::{JsonView, items, member_text, nested_member, read_vectors, token_count};
use crate::operation::{MergedStream, ObjectView};
use crate::{Answer, TokenUsage};

/// Reads a complete answer; `None` if it has no recognisable text or vector.
pub(super) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    if let Some(embeddings) = read_embeddings(body) {
        return Some(Answer { embeddings, usage: read_usage(body), ..Answer::default() });
    }
    let (content, finish_reason) = read_text(body)?;
    Some(Answer { content, finish_reason, usage: read_usage(body), ..Answer::default() })
}

/// Reads the events of a stream.
pub(super) fn read_stream(events: &[ObjectView]) -> Option<Answer> {
    let mut answer: Option<Answer> = None;
    for event in events {
        let event = Value::Object(event.clone());
        let counts = read_usage(&event);
        let piece = read_text(&event);
        // Cohere's last event has only the finish reason.
        let ended = member_text(&event, "finish_reason").map(|reason| reason.into_owned());
        if piece.is_none() && ended.is_none() && counts.is_none() {
            continue;
        }
        let answer = answer.get_or_insert_default();
        let (piece, reason) = piece.unwrap_or_default();
        answer.content.push_str(&piece);
        answer.finish_reason = reason.or(ended).or(answer.finish_reason.take());
        answer.usage = counts.map(|counts| merge_usage(answer.usage, counts)).or(answer.usage);
    }
    answer
}

/// The text in an object, and its finish reason if it has one.
fn read_text<D: JsonView>(body: &D) -> Option<(String, Option<String>)> {
    let (at, content) = find_text(body)?;
    let reason = ["stop_reason", "completionReason", "finish_reason"]
        .into_iter()
        .find_map(|name| member_text(at, name))
        .or_else(|| nested_member(at, &["finishReason", "reason"])?.as_text());
    Some((content, reason.map(|reason| reason.into_owned())))
}

/// The object that holds the text, and the text.
fn find_text<D: JsonView>(body: &D) -> Option<(&D, String)> {
    for name in ["generation", "outputText", "completion", "text"] {
        if let Some(text_value) = member_text(body, name) {
            return Some((body, text_value.into_owned()));
        }
    }
    ["results", "outputs", "generations", "completions"].into_iter().find_map(|list| {
        let first = items(body, list).first()?;
        let text_value = member_text(first, "outputText")
            .or_else(|| member_text(first, "text"))
            .or_else(|| nested_member(first, &["data", "text"])?.as_text())?;
        Some((first, text_value.into_owned()))
    })
}

fn read_embeddings<D: JsonView>(body: &D) -> Option<Vec<Vec<f64>>> {
    if let Some(one) = body.member("embedding") {
        return Some(read_vectors(std::iter::once(Some(one))));
    }
    let many = body.member("embeddings")?;
    let many = many.as_list().or_else(|| many.member("float")?.as_list())?;
    Some(read_vectors(many.iter().map(Some)))
}

fn read_usage<D: JsonView>(body: &D) -> Option<TokenUsage> {
    let prompt = token_count(body, "prompt_token_count")
        .or_else(|| token_count(body, "inputTextTokenCount"));
    let completion = token_count(body, "generation_token_count")
        .or_else(|| token_count(body, "totalOutputTextTokenCount"))
        .or_else(|| token_count(items(body, "results").first()?, "tokenCount"));
    prompt.or(completion)?;
    let (prompt_tokens, completion_tokens) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let total_tokens = prompt_tokens.saturating_add(completion_tokens);
    Some(TokenUsage { prompt_tokens, completion_tokens, total_tokens, ..TokenUsage::default() })
}

/// The counts of a stream only grow, and only its first event has the prompt's.
fn merge_usage(before: Option<TokenUsage>, now: TokenUsage) -> TokenUsage {
    let before = before.unwrap_or_default();
    let prompt_tokens = before.prompt_tokens.max(now.prompt_tokens);
    let completion_tokens = before.completion_tokens.max(now.completion_tokens);
    let total_tokens = prompt_tokens.saturating_add(completion_tokens);
    TokenUsage { prompt_tokens, completion_tokens, total_tokens, ..TokenUsage::default() }
}

/// Merges the events of the models whose streams hold all that their complete answers do: Llama,
/// Titan, Mistral.
pub(super) fn merge_events(events: Vec<ObjectView>) -> Option<MergedStream> {
    let family = events.iter().find_map(Family::of_event)?;
    let whole = read_stream(&events)?;
    let mut body = ObjectView::new();
    for (name, value) in events.into_iter().flatten() {
        if !value.is_null() || !body.contains_key(&name) {
            body.insert(name, value);
        }
    }
    let ended = whole.finish_reason.is_some();
    let (text, reason) = (whole.content, whole.finish_reason);
    match family {
        Family::Llama => {
            body.insert("generation".to_owned(), text.into());
        }
        Family::Mistral => {
            let outputs = json!([{ "text": text, "stop_reason": reason }]);
            body.insert("outputs".to_owned(), outputs);
        }
        Family::Titan => {
            for name in ["outputText", "index", "totalOutputTextTokenCount", "completionReason"] {
                body.shift_remove(name);
            }
            let count = whole.usage.map_or(0, |usage| usage.completion_tokens);
            let result =
                json!({ "tokenCount": count, "outputText": text, "completionReason": reason });
            body.insert("results".to_owned(), json!([result]));
        }
    }
    Some(MergedStream { body, ended, failed: false })
}

/// The events of a complete answer.
pub(super) fn split_body(mut body: ObjectView) -> Option<Vec<Value>> {
    let family = Family::of_body(&body)?;
    let whole = read_body(&Value::Object(body.clone()))?;
    let reason = whole.finish_reason;
    let counts = whole.usage.unwrap_or_default();
    let mut events: Vec<Value> =
        text_pieces(&whole.content).map(|piece| family.text_event(piece)).collect();
    let mut last = family.text_event("");
    match family {
        Family::Llama => {
            body.shift_remove("generation");
            body.append(last.as_object_mut()?);
            // The finish reason is only known at the end.
            body.insert("stop_reason".to_owned(), json!(reason));
            last = Value::Object(body);
        }
        Family::Mistral => last["outputs"][0]["stop_reason"] = json!(reason),
        Family::Titan => {
            last["completionReason"] = json!(reason);
            last["inputTextTokenCount"] = counts.prompt_tokens.into();
            last["totalOutputTextTokenCount"] = counts.completion_tokens.into();
        }
    }
    events.push(last);
    Some(events)
}

/// The events of a complete answer with a single text choice, such as that of DeepSeek's R1.
pub(super) fn split_choice(choice: &Value) -> Option<Vec<Value>> {
    let text = choice.get("text")?.as_str()?;
    let event = |text: &str, reason: Value| {
        let mut piece = choice.clone();
        piece["text"] = text.into();
        piece["stop_reason"] = reason;
        json!({ "choices": [piece] })
    };
    let mut events: Vec<Value> = text_pieces(text).map(|piece| event(piece, Value::Null)).collect();
    events.push(event("", choice.get("stop_reason").cloned().unwrap_or(Value::Null)));
    Some(events)
}

/// The model family that uses a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Llama,
    Titan,
    Mistral,
}

impl Family {
    fn of_event(event: &ObjectView) -> Option<Self> {
        let is = |name: &str| event.contains_key(name);
        match () {
            () if is("generation") => Some(Self::Llama),
            () if is("outputText") => Some(Self::Titan),
            () if is("outputs") => Some(Self::Mistral),
            () => None,
        }
    }

    /// Only for a single answer, because several cannot be distinguished in a stream.
    fn of_body(body: &ObjectView) -> Option<Self> {
        let single = |name: &str| body.get(name)?.as_array().map(|list| list.len() == 1);
        match () {
            () if body.contains_key("generation") => Some(Self::Llama),
            () if single("results") == Some(true) => Some(Self::Titan),
            () if single("outputs") == Some(true) => Some(Self::Mistral),
            () => None,
        }
    }

    /// An event that is not the last.
    fn text_event(self, piece: &str) -> Value {
        match self {
            Self::Llama => json!({ "generation": piece, "stop_reason": null }),
            Self::Titan => json!({ "outputText": piece, "index": 0, "completionReason": null }),
            Self::Mistral => json!({ "outputs": [{ "text": piece, "stop_reason": null }] }),
        }
    }
}
