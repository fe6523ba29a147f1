//! The token counts of a chat completion.

use crate::TokenUsage;
use crate::json_view::{JsonView, count_of, has_unread_count, nested_member, token_count};

/// Reads `usage` (Groq: `x_groq.usage`) of a chat, completion or embedding body.
pub(in crate::openai) fn read_usage<D: JsonView>(body: &D) -> Option<TokenUsage> {
    [body.member("usage"), nested_member(body, &["x_groq", "usage"])]
        .into_iter()
        .flatten()
        .find(|usage| usage.is_map())
        .and_then(read_counts)
}

/// How many of xAI's ticks are a US dollar.
const TICKS: f64 = 1e10;

/// The cost in US dollars that `usage` states: a number, Perplexity's object, or xAI's ticks. If a
/// caller brings a key of its own, OpenRouter states its fee, and the provider's cost beside it.
pub(in crate::openai) fn stated_cost<D: JsonView>(body: &D) -> Option<f64> {
    let usage = body.member("usage")?;
    if let Some(ticks) = usage.member("cost_in_usd_ticks").and_then(JsonView::as_float) {
        return Some(ticks / TICKS).filter(|cost| *cost >= 0.0);
    }
    let cost = usage.member("cost")?;
    let charged = cost.as_float().or_else(|| cost.member("total_cost")?.as_float())?;
    let has_own_key = usage.member("is_byok").is_some_and(JsonView::is_true);
    let beside = match has_own_key {
        true => nested_member(usage, &["cost_details", "upstream_inference_cost"])?.as_float()?,
        false => 0.0,
    };
    Some(charged + beside).filter(|cost| cost.is_finite() && *cost >= 0.0)
}

/// The counts of a `usage` object; `None` if one of them cannot be read.
pub(super) fn read_counts<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    if has_unread_count(usage, &["prompt_tokens", "completion_tokens"]) {
        return None;
    }
    let within = |object, name| nested_member(usage, &[object, name]).and_then(count_of);
    let prompt = token_count(usage, "prompt_tokens").unwrap_or(0);
    let mut completion = token_count(usage, "completion_tokens").unwrap_or(0);
    let reasoning = within("completion_tokens_details", "reasoning_tokens").unwrap_or(0);
    let total = token_count(usage, "total_tokens");
    // xAI does not include reasoning in the completion tokens, which its total shows.
    let beside = prompt.saturating_add(completion).saturating_add(reasoning);
    if reasoning > 0 && total == Some(beside) {
        completion = completion.saturating_add(reasoning);
    }
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: reasoning,
        cached_tokens: within("prompt_tokens_details", "cached_tokens")
            .or_else(|| token_count(usage, "prompt_cache_hit_tokens"))
            .unwrap_or(0),
        cache_write_tokens: within("prompt_tokens_details", "cache_write_tokens").unwrap_or(0),
    })
}
