//! The token counts of Cohere's answers.

use serde_json::{Value, json};

use crate::TokenUsage;
use crate::json_view::{JsonView, has_unread_count, token_count};

/// The counts in `usage`, or in `meta` for an answer that has it: its tokens, else its billed
/// units; `None` if it has neither.
pub(super) fn read_usage<D: JsonView>(told: &D) -> Option<TokenUsage> {
    let of = |name: &str| told.member(name).filter(|counts| counts.is_map());
    let counts = of("tokens").or_else(|| of("billed_units"))?;
    if has_unread_count(counts, &["input_tokens", "output_tokens"]) {
        return None;
    }
    let of = |object, name| token_count(object, name).unwrap_or(0);
    let (prompt, completion) = (of(counts, "input_tokens"), of(counts, "output_tokens"));
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        cached_tokens: of(told, "cached_tokens"),
        ..TokenUsage::default()
    })
}

/// The counts as Cohere sends them.
pub(super) fn write_counts(usage: TokenUsage) -> Value {
    let tokens = json!({
        "input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens
    });
    json!({ "billed_units": tokens, "tokens": tokens })
}
