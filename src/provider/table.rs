//! The table of providers, which recognition, the writers and the documentation use.

use super::answer_draft::FinishMeaning;
use super::operation::OperationRow;
use super::provider_row::{ErrorRow, ProviderRow};
use super::{Answer, Operation, Provider, json_rpc, openai};

impl Provider {
    /// Every provider. A later one is asked first whether a request is its own, so that it takes
    /// precedence over the earlier ones.
    pub const ALL: &'static [Self] = &[
        Self::OPEN_AI,
        Self::ANTHROPIC,
        Self::GEMINI,
        Self::BEDROCK,
        Self::OLLAMA,
        Self::COHERE,
        Self::PERPLEXITY,
        Self::VOYAGE,
        Self::MCP,
        Self::GRPC,
        Self::UNKNOWN,
    ];

    /// The provider's index in [`Self::ALL`].
    pub fn table_index(self) -> usize {
        Self::ALL.iter().position(|known| *known == self).unwrap_or(0)
    }

    /// A provider whose format is unknown.
    pub const UNKNOWN: Self = Self::new(&UNKNOWN);
}

impl Operation {
    /// Any other method and path, which is forwarded and recorded all the same.
    pub const OTHER: Self = Self::new(&OTHER);

    /// All operations, by provider.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        Provider::ALL.iter().flat_map(|provider| provider.row().operations.iter().copied())
    }
}

/// The meaning of an answer's finish reason, in any provider's words.
pub(super) fn finish_meaning(answer: &Answer) -> Option<FinishMeaning> {
    let known = Operation::all().filter_map(|operation| operation.row().finish);
    FinishMeaning::from_word(answer.finish_reason.as_deref()?, known)
}

/// Its errors have OpenAI's format, which most programs read.
static UNKNOWN: ProviderRow = ProviderRow {
    operations: &[Operation::OTHER],
    errors: ErrorRow {
        limit: ErrorRow::PLAIN.limit,
        retry: ErrorRow::PLAIN.retry,
        gateway_page: ErrorRow::PLAIN.gateway_page,
        ..openai::ERRORS
    },
    ..ProviderRow::UNNAMED
};

static OTHER: OperationRow = OperationRow {
    is_free_unnamed: true,
    stream_error: openai::stream_error,
    outcome: json_rpc::RULES,
    ..OperationRow::UNREAD
};

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
