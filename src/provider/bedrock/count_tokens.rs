//! The reader of Bedrock's token counts.

use crate::Answer;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, token_count};
use crate::operation::OperationRow;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Bedrock's Count Tokens",
    word: "bedrock_count_tokens",
    is_free: true,
    was_unknown: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// Reads a count; `None` if the body holds no count.
fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    token_count(body, "inputTokens").map(Answer::of_counted_prompt)
}

#[cfg(test)]
mod tests {
    use crate::Operation;
    use crate::test_calls::read;

    #[test]
    fn count_is_the_prompts() {
        let answer = read(Operation::BEDROCK_COUNT_TOKENS, false, br#"{"inputTokens":12}"#);
        assert_eq!(answer.unwrap().usage.unwrap().prompt_tokens, 12);
        assert_eq!(read(Operation::BEDROCK_COUNT_TOKENS, false, br#"{"message":"no"}"#), None);
    }
}
