//! The writer of AgentLoom recordings.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::write::{EntryToWrite, WrittenEntry};
use super::adapter_key::{AdapterKeys, WrittenNames};
use loomrec_identity::RequestKey;
use loomrec_provider::Operation;
use loomrec_recording::{Entry, ResponseEnd};

/// The fields of an entry that AgentLoom reads.
const FIELDS: [&str; 9] = [
    "content",
    "model",
    "usage",
    "cost_usd",
    "latency_ms",
    "finish_reason",
    "tool_calls",
    "embeddings",
    "request_hash",
];

/// The field of an entry that AgentLoom only finds by another name: the key of the call that it
/// repeats.
pub(super) const ALIAS: &str = "alias_of";

/// Writes entries. Several entries of a step become a list. The next entry decides this, so one
/// entry is held back. Each entry is also written under every hash that AgentLoom may look it up
/// by.
#[derive(Debug, Default)]
pub(in super::super) struct TurnCounter {
    step: Option<String>,
    /// The entry that is held back: the only one of its step so far.
    held: Option<String>,
    /// The same entries under their hashes. They stand behind the step.
    aliases: String,
    /// The hashes that entries are written under.
    used: HashSet<RequestKey>,
}

impl TurnCounter {
    /// Adds an entry. Returns the text that can be written already.
    ///
    /// # Errors
    /// If AgentLoom cannot represent the entry. The error says why.
    pub(in super::super) fn write_entry(
        &mut self,
        sent: &EntryToWrite<'_>,
    ) -> Result<WrittenEntry, String> {
        let entry = sent.entry;
        if sent.step.is_none() && sent.key.contains('#') {
            return Err("AgentLoom has one answer for a hash: give the call a step id".to_owned());
        }
        let mut lost = Vec::new();
        check_replayable(entry, &mut lost)?;
        let keys = AdapterKeys::from_entry(entry);
        let names = keys.written_names(sent, &mut self.used)?;
        let fields = entry_fields(entry, &keys, &mut lost);
        let aliases = alias_text(&names, &fields);
        let text = format_fields(&fields);
        let mut out = String::new();
        match sent.step {
            Some(step) if self.step.as_deref() == Some(step) => {
                if let Some(first) = self.held.take() {
                    out.push_str(&format!("[{first}"));
                    lost.push("turns of a step, which AgentLoom 0.4.0 cannot read");
                }
                out.push_str(&format!(", {text}"));
            }
            _ => {
                out = self.flush();
                out.push_str(&format!(",\n  {}: ", Value::from(names.first)));
                match sent.step {
                    Some(_) => self.held = Some(text),
                    None => out.push_str(&text),
                }
                self.step = sent.step.map(str::to_owned);
            }
        }
        match sent.step {
            Some(_) => self.aliases.push_str(&aliases),
            None => out.push_str(&aliases),
        }
        Ok(WrittenEntry { text: out, lost })
    }

    /// Returns the text that was held back.
    pub(in super::super) fn flush(&mut self) -> String {
        let end = match (self.held.take(), self.step.take()) {
            (Some(text), _) => text,
            (None, Some(_)) => "]".to_owned(),
            (None, None) => String::new(),
        };
        end + &std::mem::take(&mut self.aliases)
    }
}

/// Fails if AgentLoom would replay an entry differently. Adds what else is lost.
fn check_replayable(entry: &Entry, lost: &mut Vec<&'static str>) -> Result<(), String> {
    let (Some(status), Some(chunks)) = (entry.answer_status(), entry.answer_chunks()) else {
        return Ok(());
    };
    if matches!(entry.answer_end(), Some(ResponseEnd::UpstreamAbort(_))) {
        return Err("its answer was cut, which AgentLoom would replay as a whole one".to_owned());
    }
    if !entry.has_good_status() {
        return Err(format!("AgentLoom replays an error (status {status}) as an empty answer"));
    }
    let operation = entry.recognise_call().map(|call| call.operation);
    if entry.content.as_deref().unwrap_or_default().is_empty()
        && entry.tool_calls.is_empty()
        && entry.embeddings.is_empty()
        && operation != Some(Operation::CHAT_COMPLETIONS)
    {
        return Err("its answer has no text".to_owned());
    }
    lost.push("requests, headers, and how answers were sent");
    if chunks.len() > 1 {
        lost.push("the chunks of streamed answers, and their times");
    }
    Ok(())
}

fn entry_fields(
    entry: &Entry,
    keys: &AdapterKeys,
    lost: &mut Vec<&'static str>,
) -> Map<String, Value> {
    let Value::Object(all) = entry.to_json() else { return Map::new() };
    let known = all.into_iter().filter(|(name, _)| FIELDS.contains(&name.as_str()));
    let mut out: Map<String, Value> = known.collect();
    match keys.whole_request.first() {
        Some(hash) => drop(out.insert("request_hash".to_owned(), hash.as_str().into())),
        None if entry.has_request() => {
            out.shift_remove("request_hash");
            lost.push("hashes of calls that AgentLoom does not make: only step ids find them");
        }
        None => {}
    }
    if !out.contains_key("content") {
        out.insert("content".to_owned(), "".into());
    }
    if let Some(Value::Object(usage)) = out.get_mut("usage") {
        usage.retain(|name, _| !name.starts_with("cache"));
    }
    out
}

/// Returns the text of an entry under its further hashes.
fn alias_text(names: &WrittenNames, fields: &Map<String, Value>) -> String {
    let mut text = String::new();
    let mut write = |key: &RequestKey, hash: Option<&RequestKey>| {
        let mut fields = fields.clone();
        match hash {
            Some(hash) => drop(fields.insert("request_hash".to_owned(), hash.as_str().into())),
            None => drop(fields.shift_remove("request_hash")),
        }
        fields.insert(ALIAS.to_owned(), names.first.as_str().into());
        text.push_str(&format!(",\n  \"{key}\": {}", format_fields(&fields)));
    };
    names.whole_request.iter().for_each(|key| write(key, Some(key)));
    // The hash of the messages is none of a request.
    names.messages.iter().for_each(|key| write(key, None));
    text
}

/// Formats pretty JSON, indented by one level.
fn format_fields(fields: &Map<String, Value>) -> String {
    format!("{:#}", Value::Object(fields.clone())).replace('\n', "\n  ")
}
