//! The forms in which faults are declared: the name of each type, its fields, and the field whose
//! value may follow the name in text.

/// A fault type.
#[derive(Debug)]
pub(super) struct FaultForm {
    pub(super) name: &'static str,
    /// The field whose value follows `name:`.
    pub(super) primary: Option<&'static str>,
    pub(super) fields: &'static [(&'static str, FormValue)],
}

/// How the value of a field is written in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormValue {
    /// Text, whatever it looks like.
    Text,
    /// JSON if it begins like JSON, else text.
    Json,
    /// A number, `true` or `false`, or a word.
    Plain,
    /// Another fault, which takes all the rest of the text.
    Fault,
}

use FormValue::{Fault, Json, Plain, Text};

const fn form(
    name: &'static str,
    primary: Option<&'static str>,
    fields: &'static [(&'static str, FormValue)],
) -> FaultForm {
    FaultForm { name, primary, fields }
}

/// All fault types.
pub(super) static FORMS: [FaultForm; 23] = [
    form("timeout", Some("after_ms"), &[("after_ms", Plain)]),
    form("hang", Some("max_ms"), &[("max_ms", Plain)]),
    form("wedged", Some("max_ms"), &[("max_ms", Plain)]),
    form("slow", Some("delay_ms"), &[("delay_ms", Plain)]),
    form(
        "recover_after",
        Some("failures"),
        &[("failures", Plain), ("per", Plain), ("fault", Fault)],
    ),
    form(
        "http_error",
        Some("status_code"),
        &[
            ("status_code", Plain),
            ("headers", Json),
            ("body", Json),
            ("message", Text),
            ("code", Text),
            ("retry_after", Plain),
            ("retry_after_ms", Plain),
            ("x_should_retry", Plain),
        ],
    ),
    form("malformed_response", None, &[("raw", Text)]),
    form(
        "stream_truncate",
        Some("after_chunks"),
        &[
            ("after_chunks", Plain),
            ("after_events", Plain),
            ("after_text_events", Plain),
            ("after_bytes", Plain),
            ("raise", Plain),
            ("status_code", Plain),
            ("message", Text),
            ("code", Plain),
            ("reason", Text),
        ],
    ),
    form("connection_reset", None, &[]),
    form("connection_drop", None, &[]),
    form(
        "partial_response",
        None,
        // Other values of the last two are refused. They are here because other programs write them.
        &[("content", Text), ("completion_tokens", Plain), ("finish_reason", Plain)],
    ),
    form("tool_call_fault", Some("mode"), &[("mode", Plain), ("name", Text), ("arguments", Json)]),
    form("tool_result_fault", Some("mode"), &[("mode", Plain), ("message", Text)]),
    form(
        "stream_stall",
        Some("after_chunks"),
        &[
            ("after_chunks", Plain),
            ("after_events", Plain),
            ("after_text_events", Plain),
            ("after_bytes", Plain),
            ("for_ms", Plain),
        ],
    ),
    form("throttle", Some("bytes_per_second"), &[("bytes_per_second", Plain)]),
    form("slice", Some("bytes"), &[("bytes", Plain), ("delay_ms", Plain)]),
    form("stream_garble", Some("chunk"), &[("chunk", Plain), ("how", Plain)]),
    form("wrong_length", Some("by"), &[("by", Plain)]),
    form("bad_encoding", None, &[]),
    form("drop", None, &[]),
    form("rate_limit", None, &[]),
    form("malformed", None, &[("whole", Plain)]),
    form("disconnect", None, &[]),
];

impl FaultForm {
    /// Returns the type of this name. `recover_after` has a second spelling.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        let name = if name == "recover-after" { "recover_after" } else { name };
        FORMS.iter().find(|form| form.name == name)
    }

    /// The names of its fields.
    pub(super) fn field_names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|(name, _)| *name).collect()
    }

    /// The names of all types.
    pub(super) fn all_names() -> Vec<&'static str> {
        FORMS.iter().map(|form| form.name).collect()
    }
}

impl super::Fault {
    /// Returns the name of the type that is declared as `word`.
    pub fn type_named(word: &str) -> Option<&'static str> {
        FaultForm::find(word).map(|form| form.name)
    }

    /// Returns the names of all types.
    pub fn type_names() -> Vec<&'static str> {
        FaultForm::all_names()
    }
}
