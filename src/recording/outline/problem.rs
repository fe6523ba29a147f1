//! Errors of members and takes, with their lines.

use std::ops::Range;

use serde_json::Value;

use super::{OutlineMember, RecordingOutline};
use crate::entry::EntryError;
use crate::error::{FormatError, plain_message};
use loomrec_identity::typed_field::value_kind;

impl RecordingOutline {
    /// Returns why a member is neither an entry nor a list of entries, from its text.
    pub fn not_entry(&self, member: &OutlineMember, text: &[u8]) -> FormatError {
        let (key, line) = (self.member_key(member), member.line);
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => return self.bad_json(&member.value, &error),
        };
        let found = match &value {
            Value::Array(_) if !self.is_step(member) => {
                return FormatError::ListUnderHash { key, line };
            }
            Value::Array(items) => match items.iter().find(|item| !item.is_object()) {
                Some(other) => format!("a list with {} in it", value_kind(other)),
                None => value_kind(&value).to_owned(),
            },
            other => value_kind(other).to_owned(),
        };
        FormatError::NotEntry { key, line, found }
    }

    /// Returns the error for a take whose text is not JSON. The text before it is assumed to be
    /// correct.
    pub fn bad_json(&self, take: &Range<u64>, error: &serde_json::Error) -> FormatError {
        let line = self.member_at(take.start).map_or(1, |member| member.line);
        json_at(line, error)
    }

    /// Returns the error for a take with a wrong field.
    pub fn bad_entry(&self, take: &Range<u64>, problem: EntryError) -> FormatError {
        let member = self.member_at(take.start);
        let items = member.as_ref().map_or(&[][..], |member| self.items_in(&member.value));
        FormatError::Entry {
            key: member.as_ref().map_or_else(String::new, |member| self.member_key(member)),
            line: member.map_or(1, |member| member.line),
            take: items.partition_point(|other| other.start < take.start) + 1,
            problem: Box::new(problem),
        }
    }
}

/// Returns the error of a value whose key is in this line.
pub(super) fn json_at(line: usize, error: &serde_json::Error) -> FormatError {
    FormatError::Json {
        line: line + error.line().saturating_sub(1),
        column: error.column(),
        message: plain_message(error),
    }
}
