//! The report of `loomrec stats --cache`.

use std::time::Duration;

use serde_json::{Value, json};

use loomrec_cli::amount::{format_dollars, format_span, round_dollars};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal;
use loomrec_curation::history::PromptPart;
use loomrec_store::RecordingLocation;

use super::cache::{CacheLoss, CachedConversation, LostCache};

/// The conversations of recordings, and what their calls did not read from the cache.
#[derive(Default)]
pub(super) struct CacheReport {
    conversations: Vec<(RecordingLocation, CachedConversation)>,
}

impl CacheReport {
    /// Adds the conversations of a recording.
    pub(super) fn add(&mut self, file: &RecordingLocation, found: Vec<CachedConversation>) {
        self.conversations.extend(found.into_iter().map(|found| (file.clone(), found)));
    }

    /// Whether the beginning of a prompt changed.
    pub(super) fn has_change(&self) -> bool {
        self.conversations.iter().any(|(_, conversation)| conversation.changed_count() > 0)
    }

    /// Formats the report for people, no wider than `width` if possible.
    pub(super) fn to_text(&self, width: Option<usize>) -> String {
        if self.conversations.is_empty() {
            return "no conversation of two or more calls\n".to_owned();
        }
        let mut table = Table::new(vec![
            TableColumn::left("CONVERSATION").shrinks_to(12),
            TableColumn::right("CALLS"),
            TableColumn::right("IN"),
            TableColumn::right("CACHED"),
            TableColumn::right("WRITTEN").with_omission_turn(1),
            TableColumn::right("CHANGED"),
            TableColumn::right("MISSED"),
            TableColumn::right("LOST"),
            TableColumn::right("COST"),
        ]);
        for (_, conversation) in &self.conversations {
            table.add_row(conversation.changed_count() > 0, table_cells(conversation));
        }
        let mut text = table.to_text(width);
        for (_, conversation) in &self.conversations {
            text.push_str(&format_losses(conversation));
        }
        text
    }

    /// Returns the report for programs.
    pub(super) fn to_json_text(&self) -> String {
        let conversations = self.conversations.iter().map(|(file, conversation)| {
            json!({
                "recording": file.display().to_string(),
                "key": conversation.key,
                "calls": conversation.calls,
                "input_tokens": conversation.usage.prompt_tokens,
                "cached_tokens": conversation.usage.cached_tokens,
                "cache_write_tokens": conversation.usage.cache_write_tokens,
                "lost": conversation.losses.iter().map(loss_json).collect::<Vec<_>>(),
            })
        });
        let out = json!({ "conversations": conversations.collect::<Vec<_>>() });
        terminal::printable_json(&format!("{out:#}\n")).into_owned()
    }
}

fn table_cells(conversation: &CachedConversation) -> Vec<String> {
    let CachedConversation { key, calls, usage, losses } = conversation;
    let changed = conversation.changed_count();
    let lost = losses.iter().try_fold(0, |sum: u64, loss| Some(sum.saturating_add(loss.tokens?)));
    let cost: Option<f64> = losses.iter().map(|loss| loss.cost).sum();
    let unknown = || "unknown".to_owned();
    vec![
        key.clone(),
        calls.to_string(),
        usage.prompt_tokens.to_string(),
        usage.cached_tokens.to_string(),
        usage.cache_write_tokens.to_string(),
        changed.to_string(),
        (losses.len() - changed).to_string(),
        lost.map_or_else(unknown, |lost| lost.to_string()),
        cost.map_or_else(unknown, format_dollars),
    ]
}

/// Formats the first change and the first miss of a conversation, and the number of the others.
fn format_losses(conversation: &CachedConversation) -> String {
    let is_change = |loss: &&LostCache| matches!(loss.why, CacheLoss::Changed(..));
    let (changed, missed): (Vec<&LostCache>, Vec<&LostCache>) =
        conversation.losses.iter().partition(is_change);
    let mut text = String::new();
    for (losses, what) in [(changed, "changes"), (missed, "misses")] {
        let Some(first) = losses.first() else { continue };
        text.push_str(&format!("\n{}", loss_text(first, conversation)));
        if losses.len() > 1 {
            text.push_str(&format!("  further {what}: {}; --json lists them\n", losses.len() - 1));
        }
    }
    text
}

fn loss_text(loss: &LostCache, conversation: &CachedConversation) -> String {
    let line = |text: &str| terminal::printable_line(text).into_owned();
    let mut text = format!("{}: call {} ({})", conversation.key, loss.turn, loss.key);
    if let Some(after) = loss.after.and_then(|micros| u64::try_from(micros).ok()) {
        text.push_str(&format!(
            ", {} after {}",
            format_span(Duration::from_micros(after)),
            loss.earlier
        ));
    }
    match &loss.why {
        CacheLoss::Changed(change, words) => {
            let place = words.as_ref().map_or("", |words| words.place.as_str());
            text.push_str(&format!(": {} changed at {}", part_words(change.part), line(place)));
        }
        CacheLoss::Missed => {
            text.push_str(": missed, though its prompt begins with the earlier one")
        }
    }
    if let Some(tokens) = loss.tokens {
        text.push_str(&format!("; tokens not read from the cache: {tokens}"));
    }
    if let Some(cost) = loss.cost {
        text.push_str(&format!(", {}", format_dollars(cost)));
    }
    text.push('\n');
    if let CacheLoss::Changed(_, Some(words)) = &loss.why {
        for (name, said) in [("before", &words.before), ("now   ", &words.now)] {
            let said = if said.is_empty() { "(nothing)" } else { said };
            text.push_str(&format!("  {name} {}\n", line(said)));
        }
    }
    text
}

fn loss_json(loss: &LostCache) -> Value {
    let mut out = json!({
        "key": loss.key,
        "earlier": loss.earlier,
        "call": loss.turn,
        "after_ms": loss.after.map(|micros| micros / 1000),
        "tokens": loss.tokens,
        "cost_usd": loss.cost.map(round_dollars),
    });
    match &loss.why {
        CacheLoss::Missed => out["why"] = json!("missed"),
        CacheLoss::Changed(change, words) => {
            out["why"] = json!("changed");
            out["part"] = json!(match change.part {
                PromptPart::Tool => "tools",
                PromptPart::System => "system",
                PromptPart::Message => "messages",
            });
            if let Some(words) = words {
                out["place"] = json!(words.place);
                out["before"] = json!(words.before);
                out["now"] = json!(words.now);
            }
        }
    }
    out
}

fn part_words(part: PromptPart) -> &'static str {
    match part {
        PromptPart::Tool => "the tools",
        PromptPart::System => "the system prompt",
        PromptPart::Message => "an earlier message",
    }
}
