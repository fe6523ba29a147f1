//! Recordings of long conversations, in the form of each provider whose requests hold the history.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

/// A provider's form of a conversation.
pub(crate) struct ProviderForm {
    pub(crate) upstream: &'static str,
    pub(crate) path: &'static str,
    /// The body of a request with these texts, of the user and of the model in turn.
    pub(crate) body: fn(&[String]) -> Value,
    /// The members that hold the history.
    pub(crate) noun: &'static str,
}

/// The system prompt of all conversations: more than one line of a screen.
pub(crate) const SYSTEM: &str = "You are an agent.\nAnswer in short sentences.\nUse the tools.";

/// A definition of tools: it is long, and the same in each request.
fn tools() -> Value {
    let tool = |at: usize| {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        json!({ "name": format!("tool_{at}"), "description": "a tool", "input_schema": schema })
    };
    (0..20).map(tool).collect()
}

fn items(texts: &[String], item: impl Fn(&'static str, &str) -> Value) -> Vec<Value> {
    let role = |at: usize| ["user", "assistant"][at % 2];
    texts.iter().enumerate().map(|(at, text)| item(role(at), text)).collect()
}

fn plain(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

fn chat(texts: &[String]) -> Value {
    let mut messages = vec![plain("system", SYSTEM)];
    messages.extend(items(texts, plain));
    json!({ "model": "gpt-4o-mini", "messages": messages, "tools": tools() })
}

/// As coding agents do it: the mark for the cache moves to the newest message.
fn anthropic(texts: &[String]) -> Value {
    let mut messages = items(texts, plain);
    let newest = json!([{ "type": "text", "text": texts.last().unwrap(),
        "cache_control": { "type": "ephemeral" } }]);
    messages.last_mut().unwrap()["content"] = newest;
    json!({ "model": "claude-sonnet-4-20250514", "max_tokens": 64, "messages": messages,
        "system": [{ "type": "text", "text": SYSTEM }], "tools": tools() })
}

fn responses(texts: &[String]) -> Value {
    let item = |role: &'static str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
    };
    json!({ "model": "gpt-5", "instructions": SYSTEM, "input": items(texts, item), "tools": tools() })
}

fn gemini(texts: &[String]) -> Value {
    let item = |role: &'static str, text: &str| {
        let role = if role == "user" { "user" } else { "model" };
        json!({ "role": role, "parts": [{ "text": text }] })
    };
    json!({ "contents": items(texts, item), "tools": [{ "functionDeclarations": tools() }],
        "systemInstruction": { "parts": [{ "text": SYSTEM }] } })
}

fn converse(texts: &[String]) -> Value {
    let item =
        |role: &'static str, text: &str| json!({ "role": role, "content": [{ "text": text }] });
    let mut messages = items(texts, item);
    let newest = messages.last_mut().unwrap()["content"].as_array_mut().unwrap();
    newest.push(json!({ "cachePoint": { "type": "default" } }));
    json!({ "messages": messages, "system": [{ "text": SYSTEM }], "toolConfig": { "tools": tools() } })
}

/// Cohere's first version: the newest message stands alone.
fn cohere_1(texts: &[String]) -> Value {
    let item = |role: &'static str, text: &str| {
        let role = if role == "user" { "USER" } else { "CHATBOT" };
        json!({ "role": role, "message": text })
    };
    let (newest, before) = texts.split_last().unwrap();
    json!({ "model": "command-r", "preamble": SYSTEM, "message": newest,
        "chat_history": items(before, item), "tools": tools() })
}

/// All forms.
pub(crate) const FORMS: [ProviderForm; 8] = [
    ProviderForm { upstream: "openai", path: "/v1/chat/completions", body: chat, noun: "messages" },
    ProviderForm { upstream: "anthropic", path: "/v1/messages", body: anthropic, noun: "messages" },
    ProviderForm { upstream: "openai", path: "/v1/responses", body: responses, noun: "items" },
    ProviderForm {
        upstream: "gemini",
        path: "/v1beta/models/gemini-2.5-flash:generateContent",
        body: gemini,
        noun: "messages",
    },
    ProviderForm {
        upstream: "bedrock",
        path: "/model/m/converse",
        body: converse,
        noun: "messages",
    },
    ProviderForm { upstream: "ollama", path: "/api/chat", body: chat, noun: "messages" },
    ProviderForm { upstream: "cohere", path: "/v2/chat", body: chat, noun: "messages" },
    ProviderForm { upstream: "cohere", path: "/v1/chat", body: cohere_1, noun: "messages" },
];

/// A chat of OpenAI.
pub(crate) const CHAT_FORM: &ProviderForm = &FORMS[0];

/// The text at a place of a conversation: short, and like no other.
pub(crate) fn text(at: usize) -> String {
    format!("What was said at place {at}, and no more.")
}

/// The calls of a recording, in order.
#[derive(Clone, Default)]
pub(crate) struct RecordedCalls(Vec<(String, Value)>);

impl RecordedCalls {
    /// A conversation of so many turns. Call `n` sends the first `2 n - 1` texts.
    pub(crate) fn conversation(
        form: &ProviderForm,
        turns: usize,
        text: impl Fn(usize) -> String,
    ) -> Self {
        let texts: Vec<String> = (0..2 * turns).map(text).collect();
        let mut calls = Self::default();
        for turn in 1..=turns {
            let (asked, answer) = (&texts[..2 * turn - 1], &texts[2 * turn - 1]);
            calls.add(form, (form.body)(asked), answer);
        }
        calls
    }

    /// Adds a call under a hash that follows from its request.
    pub(crate) fn add(&mut self, form: &ProviderForm, body: Value, answer: &str) -> String {
        let digits = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, body.to_string()).hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        };
        let key: String = (0..4).map(digits).collect();
        let headers = json!({ "content-type": "application/json" });
        let request =
            json!({ "method": "POST", "path": form.path, "headers": headers, "body": body });
        let entry = json!({ "upstream": form.upstream, "content": answer, "request": request });
        self.0.push((key.clone(), entry));
        key
    }

    /// The calls of both, one of each in turn.
    pub(crate) fn alternate(self, other: Self) -> Self {
        let pairs = self.0.into_iter().zip(other.0);
        Self(pairs.flat_map(|(one, other)| [one, other]).collect())
    }

    /// The key of a call, counted from 1.
    pub(crate) fn key(&self, number: usize) -> &str {
        &self.0[number - 1].0
    }

    /// The entry of a call, counted from 1.
    pub(crate) fn entry_mut(&mut self, number: usize) -> &mut Value {
        &mut self.0[number - 1].1
    }

    /// The text of the recording.
    pub(crate) fn file(&self) -> String {
        let mut file = Map::new();
        file.insert("_version".to_owned(), json!(2));
        file.extend(self.0.iter().cloned());
        Value::Object(file).to_string()
    }
}
