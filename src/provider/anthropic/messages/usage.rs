//! The token counts of Anthropic's messages.

use crate::TokenUsage;
use crate::json_view::{JsonView, count_of, has_unread_count, nested_member, token_count};

pub(super) fn read_usage<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    if !usage.is_map() || has_unread_count(usage, &["input_tokens", "output_tokens"]) {
        return None;
    }
    let cached = token_count(usage, "cache_read_input_tokens").unwrap_or(0);
    let written = token_count(usage, "cache_creation_input_tokens").unwrap_or(0);
    let prompt = token_count(usage, "input_tokens")
        .unwrap_or(0)
        .saturating_add(cached)
        .saturating_add(written);
    let completion = token_count(usage, "output_tokens").unwrap_or(0);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        reasoning_tokens: nested_member(usage, &["output_tokens_details", "thinking_tokens"])
            .and_then(count_of)
            .unwrap_or(0),
        cached_tokens: cached,
        cache_write_tokens: written,
    })
}
