//! Differences between two answers: text, tool calls, finish reason, tokens, cost.

use serde_json::{Map, Value, json};

use super::text::{self, Hunk};
use super::{CallDifference, CallHalf, ComparedSide, value};
use loomrec_provider::{TokenUsage, ToolCall};
use loomrec_recording::Entry;
use loomrec_recording::entry::USAGE_FIELDS;

/// Adds the differences between two answers.
pub(super) fn add_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    found: &mut Vec<CallDifference>,
) {
    let (old, new) = (a.entry, b.entry);
    let mut member = |name: &str, old: Option<Value>, new: Option<Value>| {
        let place = format!("answer/{name}");
        value::add_differences(CallHalf::Answer, &place, old.as_ref(), new.as_ref(), found);
    };
    member("text", text_value(old), text_value(new));
    let (calls, others) = (&old.tool_calls, &new.tool_calls);
    for (call, other) in pair_tool_calls(calls, others) {
        let at = other.or(call).map_or(0, |(at, _)| at);
        let value = |call: Option<Placed<'_>>| call.map(|(_, call)| tool_call(call));
        member(&format!("tool_calls/{at}"), value(call), value(other));
    }
    add_vector_difference(&a.answer_vectors(), &b.answer_vectors(), &mut member);
    let words = |words: &Option<String>| words.as_deref().map(Value::from);
    member("finish_reason", words(&old.finish_reason), words(&new.finish_reason));
    member("model", words(&old.model), words(&new.model));
    let counts = (old.usage.map(token_counts), new.usage.map(token_counts));
    for name in USAGE_FIELDS {
        let of = |counts: &Option<Map<String, Value>>| counts.as_ref()?.get(name).cloned();
        member(&format!("usage/{name}"), of(&counts.0), of(&counts.1));
    }
    // A missing cost equals a cost of 0: older recordings have 0.0 if no price is known.
    let cost = |entry: &Entry| entry.cost_usd.filter(|cost| *cost != 0.0).map(Value::from);
    member("cost_usd", cost(old), cost(new));
    let fault = (old.fault.as_ref(), new.fault.as_ref());
    value::add_differences(CallHalf::Answer, "fault", fault.0, fault.1, found);
    let extra = (extra_fields(old), extra_fields(new));
    value::add_differences(CallHalf::Answer, "extra", Some(&extra.0), Some(&extra.1), found);
}

/// Returns the text. A missing text equals an empty one.
fn text_value(entry: &Entry) -> Option<Value> {
    entry.content.as_deref().filter(|content| !content.is_empty()).map(Value::from)
}

fn extra_fields(entry: &Entry) -> Value {
    Value::Object(entry.extra.clone())
}

/// Returns a tool call without its id, which differs each time.
fn tool_call(call: &ToolCall) -> Value {
    json!({ "name": call.name, "arguments": call.arguments })
}

/// A tool call and its index on its side.
type Placed<'c> = (usize, &'c ToolCall);

/// Pairs the tool calls of both sides in order. A call that exists on one side only stays alone.
fn pair_tool_calls<'c>(
    old: &'c [ToolCall],
    new: &'c [ToolCall],
) -> Vec<(Option<Placed<'c>>, Option<Placed<'c>>)> {
    let placed = |calls: &'c [ToolCall], at: usize, end: usize| {
        if at < end { calls.get(at).map(|call| (at, call)) } else { None }
    };
    let names = |calls: &'c [ToolCall]| calls.iter().map(|call| call.name.as_str()).collect();
    let (a, b): (Vec<&str>, Vec<&str>) = (names(old), names(new));
    let mut out = Vec::new();
    for Hunk { old: from, new: to, .. } in text::find_hunks(&a, &b) {
        for at in 0..from.len().max(to.len()) {
            let call = placed(old, from.start + at, from.end);
            out.push((call, placed(new, to.start + at, to.end)));
        }
    }
    out
}

/// Adds the difference between vectors: their number and length, or the largest difference between
/// numbers.
fn add_vector_difference(
    old: &[Vec<f64>],
    new: &[Vec<f64>],
    member: &mut impl FnMut(&str, Option<Value>, Option<Value>),
) {
    if old == new {
        return;
    }
    let shape = |rows: &[Vec<f64>]| {
        let first = rows.first()?;
        let noun = if rows.len() == 1 { "vector" } else { "vectors" };
        Some(Value::from(format!("{} {noun} of {} numbers", rows.len(), first.len())))
    };
    let (before, after) = (shape(old), shape(new));
    if before != after {
        member("embeddings", before, after);
        return;
    }
    let numbers = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect::<Vec<f64>>();
    let (one, other) = (numbers(old), numbers(new));
    let apart = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0_f64, f64::max);
    let after = Value::from(format!("the same shape, numbers up to {apart:e} apart"));
    member("embeddings", before, Some(after));
}

/// Returns the token counts by name. Partial counts are included only if they are not 0.
fn token_counts(usage: TokenUsage) -> Map<String, Value> {
    let whole = [
        ("prompt_tokens", usage.prompt_tokens),
        ("completion_tokens", usage.completion_tokens),
        ("total_tokens", usage.total_tokens),
    ];
    let parts = [
        ("reasoning_tokens", usage.reasoning_tokens),
        ("cached_tokens", usage.cached_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
    ];
    let parts = parts.into_iter().filter(|(_, count)| *count > 0);
    whole.into_iter().chain(parts).map(|(name, count)| (name.to_owned(), count.into())).collect()
}
