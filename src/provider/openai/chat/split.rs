//! Changes the delivery of chat completions.

use serde_json::{Value, json};

use crate::provider::asked::Asked;
use crate::provider::framing::Frame;
use crate::provider::wire::Object;
use crate::provider::words::pieces;

/// Makes a merged stream's body that of a complete answer.
pub(super) fn complete(mut body: Object) -> Object {
    body.insert("object".to_owned(), "chat.completion".into());
    let told = body.get("usage").is_some_and(|usage| !usage.is_null());
    if !told {
        // Groq tells its usage beside the stream, in a complete answer at its place.
        let beside = body.get_mut("x_groq").and_then(Value::as_object_mut);
        match beside.and_then(|groq| groq.shift_remove("usage")) {
            Some(usage) => body.insert("usage".to_owned(), usage),
            None => body.shift_remove("usage"),
        };
    }
    body
}

/// The chunks of a complete answer; `None` where it has no `choices`.
pub(super) fn stream(asked: &Asked<'_>, mut body: Object) -> Option<Vec<Frame>> {
    let include_usage = asked.usage;
    let Some(Value::Array(choices)) = body.shift_remove("choices") else {
        return None;
    };
    body.insert("object".to_owned(), "chat.completion.chunk".into());
    let usage = body.shift_remove("usage").filter(|usage| !usage.is_null());
    let (head, extra): (Object, Object) = body.into_iter().partition(|(name, _)| {
        matches!(
            name.as_str(),
            "id" | "object" | "created" | "model" | "system_fingerprint" | "service_tier"
        )
    });
    let mut writer =
        Writer { head, extra, with_usage: include_usage && usage.is_some(), events: vec![] };
    for (place, choice) in choices.into_iter().enumerate() {
        let Value::Object(choice) = choice else {
            return None;
        };
        writer.choice(place, choice);
    }
    if let Some(usage) = usage.filter(|_| include_usage) {
        writer.chunk(json!([]), usage);
    }
    writer.events.push(Frame::done());
    Some(writer.events)
}

struct Writer {
    /// What every chunk repeats.
    head: Object,
    /// What only the first chunk carries.
    extra: Object,
    /// Whether the chunks say `usage: null`, as they do when one at the end tells it.
    with_usage: bool,
    events: Vec<Frame>,
}

impl Writer {
    fn chunk(&mut self, choices: Value, usage: Value) {
        let mut chunk = self.head.clone();
        chunk.append(&mut self.extra);
        chunk.insert("choices".to_owned(), choices);
        if self.with_usage {
            chunk.insert("usage".to_owned(), usage);
        }
        self.events.push(Frame::unnamed(Value::Object(chunk)));
    }

    fn delta(&mut self, index: &Value, delta: Value, logprobs: Value) {
        let choice = json!([{
            "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": null
        }]);
        self.chunk(choice, Value::Null);
    }

    fn choice(&mut self, place: usize, mut choice: Object) {
        let index = choice.shift_remove("index").unwrap_or_else(|| place.into());
        let finish = choice.shift_remove("finish_reason").unwrap_or(Value::Null);
        let mut logprobs = choice.shift_remove("logprobs").unwrap_or(Value::Null);
        let message = match choice.shift_remove("message") {
            Some(Value::Object(message)) => message,
            _ => Object::new(),
        };
        self.message(&index, message, &mut logprobs);
        let mut last = json!({
            "index": index, "delta": {}, "logprobs": logprobs, "finish_reason": finish
        });
        if let Value::Object(last) = &mut last {
            last.append(&mut choice);
        }
        self.chunk(json!([last]), Value::Null);
    }

    /// The role first, with all that does not come in pieces; then the texts; then
    /// the calls. Takes the logprobs where they follow the content's pieces.
    fn message(&mut self, index: &Value, mut message: Object, logprobs: &mut Value) {
        let calls = message.shift_remove("tool_calls");
        let function = message.shift_remove("function_call");
        let mut texts = vec![];
        for (name, value) in &mut message {
            if let Value::String(text) = value
                && name != "role"
            {
                texts.push((name.clone(), std::mem::take(text)));
            }
        }
        self.delta(index, Value::Object(message), Value::Null);
        for (name, text) in texts {
            match tokens(&name, &text, logprobs) {
                Some(tokens) => {
                    *logprobs = Value::Null;
                    for token in tokens {
                        let piece = json!({ name.as_str(): token["token"] });
                        let told = json!({ "content": [token], "refusal": null });
                        self.delta(index, piece, told);
                    }
                }
                None => {
                    for piece in pieces(&text) {
                        self.delta(index, json!({ name.as_str(): piece }), Value::Null);
                    }
                }
            }
        }
        if let Some(Value::Array(calls)) = calls {
            for (place, call) in calls.into_iter().enumerate() {
                self.call(index, place, call);
            }
        }
        if let Some(mut function @ Value::Object(_)) = function {
            let arguments = take_text(&mut function, "arguments");
            self.delta(index, json!({ "function_call": function }), Value::Null);
            if let Some(arguments) = arguments {
                let delta = json!({ "function_call": { "arguments": arguments } });
                self.delta(index, delta, Value::Null);
            }
        }
    }

    /// A call's id and name, then its arguments (a custom tool's input).
    fn call(&mut self, index: &Value, place: usize, call: Value) {
        let Value::Object(call) = call else { return };
        let mut opening = Object::new();
        opening.insert("index".to_owned(), place.into());
        opening.extend(call);
        let mut rest = None;
        for (kind, slot) in [("function", "arguments"), ("custom", "input")] {
            if let Some(function) = opening.get_mut(kind)
                && let Some(text) = take_text(function, slot)
            {
                rest = Some(json!({ "index": place, kind: { slot: text } }));
            }
        }
        self.delta(index, json!({ "tool_calls": [opening] }), Value::Null);
        if let Some(rest) = rest {
            self.delta(index, json!({ "tool_calls": [rest] }), Value::Null);
        }
    }
}

/// Takes a text member out, leaving it empty.
fn take_text(object: &mut Value, name: &str) -> Option<String> {
    match object.get_mut(name) {
        Some(Value::String(text)) => Some(std::mem::take(text)),
        _ => None,
    }
}

/// The content's tokens with their logprobs, where they spell the content out.
fn tokens(name: &str, text: &str, logprobs: &Value) -> Option<Vec<Value>> {
    let refused = logprobs.get("refusal").is_some_and(|told| !told.is_null());
    let known = |name: &String| name == "content" || name == "refusal";
    if name != "content" || refused || !logprobs.as_object()?.keys().all(known) {
        return None;
    }
    let tokens = logprobs.get("content")?.as_array()?;
    let mut left = text;
    for token in tokens {
        left = left.strip_prefix(token.get("token")?.as_str()?)?;
    }
    left.is_empty().then(|| tokens.clone())
}
