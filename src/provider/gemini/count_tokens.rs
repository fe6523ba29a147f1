//! The reader and writer of Gemini's token counts.

use serde_json::{Value, json};

use super::usage_names::USAGE;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, token_count};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;
use crate::{Answer, TokenUsage};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Gemini's Count Tokens",
    word: "gemini_count_tokens",
    is_free: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    usage_names: USAGE,
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// Reads the answer of `:countTokens`; `None` if it has no total.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let total = token_count(body, "totalTokens")?;
    let usage = TokenUsage {
        prompt_tokens: total,
        total_tokens: total,
        cached_tokens: token_count(body, "cachedContentTokenCount").unwrap_or(0),
        ..TokenUsage::default()
    };
    Some(Answer { usage: Some(usage), ..Answer::default() })
}

fn write_body(_: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let mut body = json!({ "totalTokens": draft.usage.prompt_tokens });
    if draft.usage.cached_tokens > 0 {
        body["cachedContentTokenCount"] = draft.usage.cached_tokens.into();
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;
    use crate::test_calls::{read, write};

    #[test]
    fn a_count_is_the_prompts_when_it_is_read() {
        let body = br#"{"totalTokens":31,"totalBillableCharacters":9,"promptTokensDetails":[]}"#;
        let usage = read(Operation::GEMINI_COUNT_TOKENS, false, body).unwrap().usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.total_tokens, usage.completion_tokens), (31, 31, 0));
        assert_eq!(read(Operation::GEMINI_COUNT_TOKENS, false, br#"{"error":{"code":400}}"#), None);
    }

    #[test]
    fn a_count_reads_back_when_it_is_written() {
        for cached_tokens in [0, 4] {
            let usage = TokenUsage {
                prompt_tokens: 9,
                total_tokens: 9,
                cached_tokens,
                ..TokenUsage::default()
            };
            let answer = Answer { usage: Some(usage), ..Answer::default() };
            let body = write(Operation::GEMINI_COUNT_TOKENS, &answer, "seed").unwrap();
            assert_eq!(read(Operation::GEMINI_COUNT_TOKENS, false, &body), Some(answer));
        }
    }
}
