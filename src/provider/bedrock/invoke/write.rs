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
pub(super) fn write(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Written {
    let of = |family: &str| asked.model.is_some_and(|model| model.contains(family));
    match () {
        () if of("anthropic.") => with(messages::ROW.write, asked, said),
        () if of("amazon.nova") => {
            let mut body = with(converse::ROW.write, asked, said)?;
            // Nova's own answer has no times.
            remove(&mut body, &["metrics"]);
            Ok(body)
        }
        () if of("openai.") || of("qwen.") || of("deepseek.v") => {
            with(chat::ROW.write, asked, said)
        }
        () if of("mistral.") => mistral(asked, said),
        () if of("ai21.jamba") => {
            let mut body = with(chat::ROW.write, asked, said)?;
            remove(&mut body, &["object", "created"]);
            Ok(body)
        }
        () if of("cohere.command-r") || of("cohere.command-a") => command_r(asked, said),
        () if of("amazon.titan-embed") => titan_vector(asked, said),
        () if of("cohere.embed") => Ok(json!({
            "id": said.id(""),
            "texts": [],
            "embeddings": said.vectors(asked)?,
            "response_type": "embeddings_floats"
        })),
        () if said.calls.is_empty() => text(asked, said),
        () if text(asked, said).is_ok() => Err(no_calls(asked)),
        () => Err(UNKNOWN),
    }
}

const UNKNOWN: ModeError =
    ModeError::NotFromWords { operation: "a Bedrock model whose own shape is not known" };

fn no_calls(asked: &ResponseFormat<'_>) -> ModeError {
    ModeError::NoPlace { operation: asked.operation.name(), what: "tool calls" }
}

/// Writes with the writer of another operation.
fn with(
    write: Option<fn(&ResponseFormat<'_>, &AnswerDraft<'_>) -> Written>,
    asked: &ResponseFormat<'_>,
    said: &AnswerDraft<'_>,
) -> Written {
    write.ok_or(UNKNOWN)?(asked, said)
}

fn remove(body: &mut Value, names: &[&str]) {
    if let Value::Object(body) = body {
        for name in names {
            body.shift_remove(*name);
        }
    }
}

/// Mistral's first models continue a text. The large ones, and some of the generation after them,
/// chat in a format close to OpenAI's. All later ones use OpenAI's own.
fn mistral(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Written {
    let of = |name: &str| asked.model.is_some_and(|model| model.contains(name));
    let first = of("mistral-7b") || of("mixtral") || of("mistral-small-2402");
    let large = of("mistral-large-2402");
    if first || (large && said.calls.is_empty()) {
        if !said.calls.is_empty() {
            return Err(no_calls(asked));
        }
        let output =
            json!({ "text": said.answer.content, "stop_reason": said.finish(&openai::FINISH) });
        return Ok(json!({ "outputs": [output] }));
    }
    let mut body = with(chat::ROW.write, asked, said)?;
    if !large && !of("mistral-large-2407") {
        return Ok(body);
    }
    let choices = body["choices"].take();
    let choices = choices.as_array().into_iter().flatten().map(|choice| {
        json!({
            "index": choice["index"],
            "message": {
                "role": "assistant",
                "content": said.answer.content,
                "tool_calls": choice["message"].get("tool_calls").cloned().unwrap_or(json!([]))
            },
            "stop_reason": choice["finish_reason"]
        })
    });
    Ok(json!({ "choices": choices.collect::<Vec<_>>() }))
}

/// Command R answers like the first version of Cohere's chat, but without counts.
fn command_r(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Written {
    let first = ResponseFormat { target: Some("/v1/chat"), ..*asked };
    let mut body = with(cohere::ROW.write, &first, said)?;
    remove(&mut body, &["meta"]);
    Ok(body)
}

fn titan_vector(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Written {
    let operation = asked.operation.name();
    let [only] = said.vectors(asked)? else {
        return Err(ModeError::NoPlace { operation, what: "further vectors" });
    };
    Ok(json!({ "embedding": only, "inputTextTokenCount": said.usage.prompt_tokens }))
}

/// Writes for the models that only continue a text.
fn text(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Written {
    let of = |family: &str| asked.model.is_some_and(|model| model.contains(family));
    let (text, usage) = (&said.answer.content, said.usage);
    let ended = said.finish(&openai::FINISH);
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
            "id": said.id(""),
            "generations": [{
                "id": said.id_at("", 1),
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
