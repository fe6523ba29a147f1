//! The fields of an entry. Each is named here once, for reading and for writing.

use loomrec_provider::TokenUsage;

/// A field of an entry. The variants are in the order in which fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryField {
    Content,
    Model,
    Usage,
    CostUsd,
    LatencyMs,
    FinishReason,
    ToolCalls,
    Embeddings,
    RequestHash,
    Provider,
    Upstream,
    UpstreamOrigin,
    Preset,
    RunValues,
    Session,
    RecordedAt,
    EndedAt,
    EditedAt,
    Request,
    ClientLeft,
    Fault,
    Response,
    Messages,
}

impl EntryField {
    /// All fields, in the order in which they are written.
    pub(super) const ALL: [Self; 23] = [
        Self::Content,
        Self::Model,
        Self::Usage,
        Self::CostUsd,
        Self::LatencyMs,
        Self::FinishReason,
        Self::ToolCalls,
        Self::Embeddings,
        Self::RequestHash,
        Self::Provider,
        Self::Upstream,
        Self::UpstreamOrigin,
        Self::Preset,
        Self::RunValues,
        Self::Session,
        Self::RecordedAt,
        Self::EndedAt,
        Self::EditedAt,
        Self::Request,
        Self::ClientLeft,
        Self::Fault,
        Self::Response,
        Self::Messages,
    ];

    /// Returns the field with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Model => "model",
            Self::Usage => "usage",
            Self::CostUsd => "cost_usd",
            Self::LatencyMs => "latency_ms",
            Self::FinishReason => "finish_reason",
            Self::ToolCalls => "tool_calls",
            Self::Embeddings => "embeddings",
            Self::RequestHash => "request_hash",
            Self::Provider => "provider",
            Self::Upstream => "upstream",
            Self::UpstreamOrigin => "upstream_origin",
            Self::Preset => "preset",
            Self::RunValues => "run_values",
            Self::Session => "session",
            Self::RecordedAt => "recorded_at",
            Self::EndedAt => "ended_at",
            Self::EditedAt => "edited_at",
            Self::Request => "request",
            Self::ClientLeft => "client_left",
            Self::Fault => "fault",
            Self::Response => "response",
            Self::Messages => "messages",
        }
    }
}

/// A set of entry fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldSet(u32);

impl FieldSet {
    pub(super) fn contains(self, field: EntryField) -> bool {
        self.0 & (1 << field as u16) != 0
    }

    /// Adds a field. Returns `false` if the set has it already.
    pub(super) fn insert(&mut self, field: EntryField) -> bool {
        let is_new = !self.contains(field);
        self.0 |= 1 << field as u16;
        is_new
    }
}

/// The names of the fields that this version reads. Any other is kept in
/// [`Entry::extra`](super::Entry::extra).
pub const KNOWN_FIELDS: [&str; EntryField::ALL.len()] = {
    let mut names = [""; EntryField::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = EntryField::ALL[at].name();
        at += 1;
    }
    names
};

/// The counts of a usage, in the order in which they are written.
pub const USAGE_FIELDS: [&str; 6] = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cache_write_tokens",
];

/// How many counts are written even if they are 0: other readers need these four.
pub(super) const ALWAYS_WRITTEN: usize = 4;

/// The values of [`USAGE_FIELDS`].
pub(super) fn usage_counts(usage: &mut TokenUsage) -> [&mut u64; USAGE_FIELDS.len()] {
    [
        &mut usage.prompt_tokens,
        &mut usage.completion_tokens,
        &mut usage.total_tokens,
        &mut usage.reasoning_tokens,
        &mut usage.cached_tokens,
        &mut usage.cache_write_tokens,
    ]
}
