//! The writer of generated content.

use super::finish::FINISH;
use serde_json::{Map, Value, json};

use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::operation::ResponseFormat;

pub(super) fn write_body(
    _: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let mut parts = vec![];
    if draft.has_text() {
        parts.push(json!({ "text": draft.answer.content }));
    }
    for call in &draft.calls {
        let mut function = Map::new();
        // Gemini's calls do not need an id, and most have none.
        if !call.id.is_empty() {
            function.insert("id".to_owned(), call.id.as_str().into());
        }
        function.insert("name".to_owned(), call.name.as_str().into());
        function.insert("args".to_owned(), call.arguments.clone());
        parts.push(json!({ "functionCall": function }));
    }
    // Gemini does not include thoughts in the candidates' tokens.
    let usage = draft.usage;
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
            "finishReason": draft.finish_reason(&FINISH),
            "index": 0
        }],
        "usageMetadata": counts,
        "responseId": draft.answer_id("")
    });
    if let Some(model) = &draft.answer.model {
        body["modelVersion"] = model.as_str().into();
    }
    Ok(body)
}
