//! The reader of Voyage's rankings: it reads the model and the token count, not the ranking itself.

use std::borrow::Cow;

use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, member_text, token_count};
use crate::operation::OperationRow;
use crate::{Answer, TokenUsage};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Voyage rerank",
    word: "voyage_rerank",
    semantic: Some("rerank"),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let data = body.member("data").or_else(|| body.member("results"))?;
    data.as_list()?;
    Some(Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: read_usage(body),
        ..Answer::default()
    })
}

/// Voyage has one count of all tokens, which are input tokens.
pub(super) fn read_usage<D: JsonView>(body: &D) -> Option<TokenUsage> {
    let total = token_count(body.member("usage")?, "total_tokens")?;
    Some(TokenUsage { prompt_tokens: total, total_tokens: total, ..TokenUsage::default() })
}

#[cfg(test)]
mod tests {
    use crate::Operation;
    use crate::test_calls::read;

    #[test]
    fn ranking_tells_its_model_and_its_tokens() {
        let body = br#"{"object":"list","data":[{"relevance_score":0.43,"index":0}],
            "model":"rerank-2.5","usage":{"total_tokens":26}}"#;
        let answer = read(Operation::VOYAGE_RERANK, false, body).unwrap();
        assert_eq!(answer.model.as_deref(), Some("rerank-2.5"));
        assert_eq!(answer.usage.unwrap().prompt_tokens, 26);
        let error = read(Operation::VOYAGE_RERANK, false, br#"{"detail":"no"}"#);
        assert_eq!(error, None);
    }
}
