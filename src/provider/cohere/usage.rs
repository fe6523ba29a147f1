//! The token counts of Cohere's answers.

use serde_json::{Value, json};

use crate::TokenUsage;
use crate::json_view::JsonView;

/// The counts in `usage`, or in `meta` for an answer that has it: its tokens, else its billed
/// units; `None` if it has neither.
pub(super) fn usage<D: JsonView>(told: &D) -> Option<TokenUsage> {
    let of = |name: &str| told.member(name).filter(|counts| counts.is_map());
    let counts = of("tokens").or_else(|| of("billed_units"))?;
    let (prompt, completion) = (count(counts, "input_tokens"), count(counts, "output_tokens"));
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        cached_tokens: count(told, "cached_tokens"),
        ..TokenUsage::default()
    })
}

/// A count, which Cohere may write with a decimal point.
fn count<D: JsonView>(object: &D, name: &str) -> u64 {
    let Some(number) = object.member(name) else { return 0 };
    // Fractions of a token and negative numbers are not counts.
    let decimal = || number.float().filter(|number| number.fract() == 0.0).map(|it| it as u64);
    number.whole().or_else(decimal).unwrap_or(0)
}

/// The counts as Cohere sends them.
pub(super) fn counts(usage: TokenUsage) -> Value {
    let tokens = json!({
        "input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens
    });
    json!({ "billed_units": tokens, "tokens": tokens })
}
