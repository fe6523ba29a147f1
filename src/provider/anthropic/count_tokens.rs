//! The reader and writer of Anthropic's token counts.

use serde_json::{Value, json};

use super::usage_names::USAGE;
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, token_count};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Count Tokens",
    word: "count_tokens",
    is_free: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    usage_names: USAGE,
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// Reads a count; `None` if the body holds no count.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    token_count(body, "input_tokens").map(Answer::of_counted_prompt)
}

fn write_body(_: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    // All input is counted here, cached input too.
    Ok(json!({ "input_tokens": draft.usage.prompt_tokens }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_calls::{read, write};
    use crate::{Operation, TokenUsage};

    #[test]
    fn a_count_is_the_prompts_when_it_is_read() {
        let body = br#"{"input_tokens":14,"context_management":{"original_input_tokens":20}}"#;
        let usage = read(Operation::COUNT_TOKENS, false, body).unwrap().usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.total_tokens, usage.completion_tokens), (14, 14, 0));
        let error = br#"{"type":"error","error":{"type":"invalid_request_error"}}"#;
        assert_eq!(read(Operation::COUNT_TOKENS, false, error), None);
    }

    #[test]
    fn a_count_reads_back_when_it_is_written() {
        let usage = TokenUsage { prompt_tokens: 9, total_tokens: 9, ..TokenUsage::default() };
        let answer = Answer { usage: Some(usage), ..Answer::default() };
        let body = write(Operation::COUNT_TOKENS, &answer, "seed").unwrap();
        assert_eq!(body, br#"{"input_tokens":9}"#);
        assert_eq!(read(Operation::COUNT_TOKENS, false, &body), Some(answer));
    }
}
