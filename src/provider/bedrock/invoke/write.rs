//! The writer of answers in the format of a Bedrock model, chosen by its id.

use serde_json::{Value, json};

use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::anthropic::messages;
use crate::bedrock::converse;
use crate::cohere::chat as cohere;
use crate::openai;
use crate::openai::chat;
use crate::operation::ResponseFormat;

type Written = Result<Value, ModeError>;

/// Writes the answer in the format of the requested model. The request names the model's id, an
/// inference profile, or an ARN that contains either.
pub(super) fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Written {
    let of = |family: &str| format.model.is_some_and(|model| model.contains(family));
    match () {
        () if of("anthropic.") => write_with(messages::ROW.write, format, draft),
        () if of("amazon.nova") => {
            let mut body = write_with(converse::ROW.write, format, draft)?;
            // Nova's own answer has no times.
            remove_members(&mut body, &["metrics"]);
            Ok(body)
        }
        () if of("openai.") || of("qwen.") || of("deepseek.v") => {
            write_with(chat::ROW.write, format, draft)
        }
        () if of("mistral.") => write_mistral(format, draft),
        () if of("ai21.jamba") => {
            let mut body = write_with(chat::ROW.write, format, draft)?;
            remove_members(&mut body, &["object", "created"]);
            Ok(body)
        }
        () if of("cohere.command-r") || of("cohere.command-a") => command_r(format, draft),
        () if of("amazon.titan-embed") => titan_vector(format, draft),
        () if of("cohere.embed") => Ok(json!({
            "id": draft.answer_id(""),
            "texts": [],
            "embeddings": draft.checked_vectors(format)?,
            "response_type": "embeddings_floats"
        })),
        () if draft.calls.is_empty() => write_text(format, draft),
        () if write_text(format, draft).is_ok() => Err(no_calls(format)),
        () => Err(UNKNOWN),
    }
}

const UNKNOWN: ModeError =
    ModeError::NotFromWords { operation: "a Bedrock model whose own shape is not known" };

fn no_calls(format: &ResponseFormat<'_>) -> ModeError {
    ModeError::NoPlace { operation: format.operation.name(), what: "tool calls" }
}

/// Writes with the writer of another operation.
fn write_with(
    write: Option<fn(&ResponseFormat<'_>, &AnswerDraft<'_>) -> Written>,
    format: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Written {
    write.ok_or(UNKNOWN)?(format, draft)
}

fn remove_members(body: &mut Value, names: &[&str]) {
    if let Value::Object(body) = body {
        for name in names {
            body.shift_remove(*name);
        }
    }
}

/// Mistral's first models continue a text. The large ones, and some of the generation after them,
/// chat in a format close to OpenAI's. All later ones use OpenAI's own.
fn write_mistral(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Written {
    let of = |name: &str| format.model.is_some_and(|model| model.contains(name));
    let first = of("mistral-7b") || of("mixtral") || of("mistral-small-2402");
    let large = of("mistral-large-2402");
    if first || (large && draft.calls.is_empty()) {
        if !draft.calls.is_empty() {
            return Err(no_calls(format));
        }
        let output = json!({ "text": draft.answer.content, "stop_reason": draft.finish_reason(&openai::FINISH) });
        return Ok(json!({ "outputs": [output] }));
    }
    let mut body = write_with(chat::ROW.write, format, draft)?;
    if !large && !of("mistral-large-2407") {
        return Ok(body);
    }
    let choices = body["choices"].take();
    let choices = choices.as_array().into_iter().flatten().map(|choice| {
        json!({
            "index": choice["index"],
            "message": {
                "role": "assistant",
                "content": draft.answer.content,
                "tool_calls": choice["message"].get("tool_calls").cloned().unwrap_or(json!([]))
            },
            "stop_reason": choice["finish_reason"]
        })
    });
    Ok(json!({ "choices": choices.collect::<Vec<_>>() }))
}

/// Command R answers like the first version of Cohere's chat, but without counts.
fn command_r(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Written {
    let first = ResponseFormat { target: Some("/v1/chat"), ..*format };
    let mut body = write_with(cohere::ROW.write, &first, draft)?;
    remove_members(&mut body, &["meta"]);
    Ok(body)
}

fn titan_vector(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Written {
    let operation = format.operation.name();
    let [only] = draft.checked_vectors(format)? else {
        return Err(ModeError::NoPlace { operation, what: "further vectors" });
    };
    Ok(json!({ "embedding": only, "inputTextTokenCount": draft.usage.prompt_tokens }))
}

/// Writes for the models that only continue a text.
fn write_text(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Written {
    let of = |family: &str| format.model.is_some_and(|model| model.contains(family));
    let (text, usage) = (&draft.answer.content, draft.usage);
    let ended = draft.finish_reason(&openai::FINISH);
    let cut = ended == "length";
    Ok(match () {
        () if of("meta.llama") => json!({
            "generation": text,
            "prompt_token_count": usage.prompt_tokens,
            "generation_token_count": usage.completion_tokens,
            "stop_reason": ended
        }),
        () if of("amazon.titan-") => json!({
            "inputTextTokenCount": usage.prompt_tokens,
            "results": [{
                "tokenCount": usage.completion_tokens,
                "outputText": text,
                "completionReason": if cut { "LENGTH" } else { "FINISH" }
            }]
        }),
        () if of("deepseek.r") => {
            json!({ "choices": [{ "text": text, "stop_reason": ended }] })
        }
        () if of("cohere.command-") => json!({
            "id": draft.answer_id(""),
            "generations": [{
                "id": draft.id_at("", 1),
                "text": text,
                "finish_reason": if cut { "MAX_TOKENS" } else { "COMPLETE" }
            }],
            "prompt": ""
        }),
        () if of("ai21.j2") => json!({
            "id": 0,
            "prompt": { "text": "", "tokens": [] },
            "completions": [{
                "data": { "text": text, "tokens": [] },
                "finishReason": { "reason": if cut { "length" } else { "endoftext" } }
            }]
        }),
        () => return Err(UNKNOWN),
    })
}
