//! Builds a complete answer in the provider's own shape from what was said
//! alone: an entry that AgentLoom wrote, or a placeholder.
//!
//! [`complete`] is the inverse of [`super::read`]: what it builds reads back as
//! the same content, tool calls, finish reason and usage. What the words do not
//! tell is filled in as the SDKs expect it, and always in the same way: ids come
//! from a seed, times are zero, absent usage counts zero tokens.

mod finish;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use finish::{Dialect, word};

use super::delivery::ModeError;
use super::{Answer, Operation, ToolCall, Usage};

/// The JSON body of a complete answer that says what `answer` says.
///
/// Every id that is not in `answer` is made from `seed`: the same on every run,
/// another for another seed. A finish reason in another provider's words is put
/// into this one's; a word that nobody knows stays. Embeddings are lists of
/// numbers, whatever encoding was asked for; openai-node must ask for `float`, or
/// it takes them for base64.
///
/// # Errors
/// Where the operation's answers are not built here, or have no place for what
/// `answer` says or need what it does not say.
pub fn complete(operation: Operation, answer: &Answer, seed: &str) -> Result<Vec<u8>, ModeError> {
    let said = Said::of(answer, seed);
    let body = match operation {
        Operation::ChatCompletions => said.chat(),
        Operation::Completions if !said.calls.is_empty() => {
            return Err(ModeError::NoPlace { operation: operation.name(), what: "tool calls" });
        }
        Operation::Completions => said.completion(),
        Operation::Responses => said.response(),
        Operation::Embeddings => said.embeddings(operation)?,
        Operation::Messages => said.message(),
        Operation::GenerateContent => said.generated(),
        Operation::CountTokens
        | Operation::EmbedContent
        | Operation::OllamaChat
        | Operation::CohereChat
        | Operation::BedrockModel
        | Operation::Other => {
            return Err(ModeError::NotFromWords { operation: operation.name() });
        }
    };
    Ok(body.to_string().into_bytes())
}

/// What an answer says, ready to be put into any shape.
struct Said<'a> {
    answer: &'a Answer,
    seed: &'a str,
    /// The model's name, or `""`: every shape but Gemini's must have one.
    model: &'a str,
    /// The calls, their arguments an object each.
    calls: Vec<ToolCall>,
    usage: Usage,
}

impl<'a> Said<'a> {
    fn of(answer: &'a Answer, seed: &'a str) -> Self {
        let call =
            |call: &ToolCall| ToolCall::from_doc(&call.id, &call.name, Some(&call.arguments));
        Self {
            answer,
            seed,
            model: answer.model.as_deref().unwrap_or(""),
            calls: answer.tool_calls.iter().map(call).collect(),
            usage: answer.usage.unwrap_or_default(),
        }
    }

    /// The answer's own id.
    fn id(&self, prefix: &str) -> String {
        id(prefix, 0, self.seed)
    }

    /// The id of the call at `place`: its own where it has one.
    fn call_id(&self, prefix: &str, place: usize, call: &ToolCall) -> String {
        if call.id.is_empty() { id(prefix, place, self.seed) } else { call.id.clone() }
    }

    fn finish(&self, dialect: Dialect) -> &'a str {
        word(dialect, self.answer.finish_reason.as_deref(), !self.calls.is_empty())
    }

    /// Whether text stands beside the calls, or is all there is.
    fn has_text(&self) -> bool {
        !self.answer.content.is_empty() || self.calls.is_empty()
    }

    fn chat(&self) -> Value {
        let content = self.has_text().then_some(&self.answer.content);
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if !self.calls.is_empty() {
            let calls = self.calls.iter().enumerate().map(|(place, call)| {
                json!({
                    "id": self.call_id("call_", place, call),
                    "type": "function",
                    "function": { "name": call.name, "arguments": arguments_text(call) }
                })
            });
            message["tool_calls"] = calls.collect();
        }
        json!({
            "id": self.id("chatcmpl-"),
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": self.finish(Dialect::OpenAi)
            }],
            "usage": self.openai_usage()
        })
    }

    fn completion(&self) -> Value {
        json!({
            "id": self.id("cmpl-"),
            "object": "text_completion",
            "created": 0,
            "model": self.model,
            "choices": [{
                "index": 0,
                "text": self.answer.content,
                "logprobs": null,
                "finish_reason": self.finish(Dialect::OpenAi)
            }],
            "usage": self.openai_usage()
        })
    }

    fn openai_usage(&self) -> Value {
        let usage = self.usage;
        json!({
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
            "prompt_tokens_details": input_details(usage),
            "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens }
        })
    }

    fn response(&self) -> Value {
        let finish = self.finish(Dialect::Responses);
        // A status stands for itself; any other word says why it is incomplete.
        let (status, reason) = match finish {
            "completed" | "failed" | "in_progress" | "cancelled" | "queued" | "incomplete" => {
                (finish, None)
            }
            reason => ("incomplete", Some(json!({ "reason": reason }))),
        };
        let usage = self.usage;
        json!({
            "id": self.id("resp_"),
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": null,
            "incomplete_details": reason,
            "instructions": null,
            "metadata": {},
            "model": self.model,
            "output": self.output(status == "completed"),
            "parallel_tool_calls": true,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": input_details(usage),
                "output_tokens": usage.completion_tokens,
                "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
                "total_tokens": usage.total_tokens
            }
        })
    }

    /// The output items of a response: the message, then the calls.
    fn output(&self, is_whole: bool) -> Vec<Value> {
        let mut output = vec![];
        if self.has_text() {
            output.push(json!({
                "id": self.id("msg_"),
                "type": "message",
                "status": if is_whole { "completed" } else { "incomplete" },
                "role": "assistant",
                "content": [{
                    "type": "output_text", "text": self.answer.content, "annotations": []
                }]
            }));
        }
        for (place, call) in self.calls.iter().enumerate() {
            output.push(json!({
                "id": id("fc_", place, self.seed),
                "type": "function_call",
                "status": "completed",
                "call_id": self.call_id("call_", place, call),
                "name": call.name,
                "arguments": arguments_text(call)
            }));
        }
        output
    }

    fn embeddings(&self, operation: Operation) -> Result<Value, ModeError> {
        let vectors = &self.answer.embeddings;
        // JSON has no word for the numbers that are not finite.
        if vectors.is_empty() || !vectors.iter().flatten().all(|number| number.is_finite()) {
            return Err(ModeError::NoVectors { operation: operation.name() });
        }
        let data: Vec<Value> = vectors
            .iter()
            .enumerate()
            .map(|(index, vector)| {
                json!({ "object": "embedding", "index": index, "embedding": vector })
            })
            .collect();
        Ok(json!({
            "object": "list",
            "data": data,
            "model": self.model,
            "usage": {
                "prompt_tokens": self.usage.prompt_tokens,
                "total_tokens": self.usage.total_tokens
            }
        }))
    }

    fn message(&self) -> Value {
        let mut content = vec![];
        if self.has_text() {
            content.push(json!({ "type": "text", "text": self.answer.content }));
        }
        for (place, call) in self.calls.iter().enumerate() {
            content.push(json!({
                "type": "tool_use",
                "id": self.call_id("toolu_", place, call),
                "name": call.name,
                "input": call.arguments
            }));
        }
        // Anthropic counts cached input beside the input tokens, not within them.
        let usage = self.usage;
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        let written = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
        let mut counts = json!({
            "input_tokens": usage.prompt_tokens - cached - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "output_tokens": usage.completion_tokens
        });
        if usage.reasoning_tokens > 0 {
            counts["output_tokens_details"] = json!({ "thinking_tokens": usage.reasoning_tokens });
        }
        json!({
            "id": self.id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": self.finish(Dialect::Anthropic),
            "stop_sequence": null,
            "usage": counts
        })
    }

    fn generated(&self) -> Value {
        let mut parts = vec![];
        if self.has_text() {
            parts.push(json!({ "text": self.answer.content }));
        }
        for call in &self.calls {
            let mut function = Map::new();
            // Gemini's calls need no id, and most have none.
            if !call.id.is_empty() {
                function.insert("id".to_owned(), call.id.as_str().into());
            }
            function.insert("name".to_owned(), call.name.as_str().into());
            function.insert("args".to_owned(), call.arguments.clone());
            parts.push(json!({ "functionCall": function }));
        }
        // Gemini counts thoughts beside the candidates, not within them.
        let usage = self.usage;
        let thoughts = usage.reasoning_tokens.min(usage.completion_tokens);
        let mut counts = json!({
            "promptTokenCount": usage.prompt_tokens,
            "candidatesTokenCount": usage.completion_tokens - thoughts,
            "totalTokenCount": usage.total_tokens
        });
        for (name, told) in
            [("thoughtsTokenCount", thoughts), ("cachedContentTokenCount", usage.cached_tokens)]
        {
            if told > 0 {
                counts[name] = told.into();
            }
        }
        let mut body = json!({
            "candidates": [{
                "content": { "role": "model", "parts": parts },
                "finishReason": self.finish(Dialect::Gemini),
                "index": 0
            }],
            "usageMetadata": counts,
            "responseId": self.id("")
        });
        if let Some(model) = &self.answer.model {
            body["modelVersion"] = model.as_str().into();
        }
        body
    }
}

/// The arguments as OpenAI sends them. Text that is no JSON object was kept under
/// `_raw` when it was read, and goes out as it was.
fn arguments_text(call: &ToolCall) -> String {
    if let Some(Value::String(raw)) = call.arguments.get("_raw")
        && ToolCall::from_text("", "", raw).arguments == call.arguments
    {
        return raw.clone();
    }
    call.arguments.to_string()
}

fn input_details(usage: Usage) -> Value {
    json!({ "cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens })
}

/// An id of 24 hex digits behind its prefix: the same for the same seed and place.
fn id(prefix: &str, place: usize, seed: &str) -> String {
    let digest = Sha256::digest(format!("loomrec id\n{prefix}\n{place}\n{seed}"));
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{hex}")
}

#[cfg(test)]
mod tests;
