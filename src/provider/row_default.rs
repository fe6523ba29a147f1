//! The default properties of providers and operations.

use serde_json::json;

use super::answer_form::TranscriptFormat;
use super::answer_outcome::OutcomeRules;
use super::credential::KeyCarrier;
use super::framing::Framing;
use super::operation::{OperationRow, UsageNames};
use super::provider_row::{ErrorRow, ProviderRow};
use super::stream_error::plain_error;

impl ProviderRow {
    /// An unknown provider. Its errors have OpenAI's format, which most programs read.
    pub(super) const UNNAMED: Self = Self {
        name: "unknown",
        semantic: None,
        operations: &[],
        recognise: |_| None,
        has_header: |_| false,
        has_path: |_| false,
        streams_unasked: |_| false,
        target: |head, _| Some(head.path.to_owned()),
        key_carrier: KeyCarrier::Bearer,
        call_ids: true,
        errors: ErrorRow::PLAIN,
    };
}

impl ErrorRow {
    /// Errors with only a message.
    pub(super) const PLAIN: Self = Self {
        own: |error| json!({ "error": error.named }),
        own_head: None,
        natural: |error_request| json!({ "error": error_request.message }),
        media: "application/json",
        kind_header: None,
        identify: |_, _| {},
        reason: |_, usual| usual,
        limit: |_, _| {},
        retry: |_, wait, headers| headers.push(("retry-after", wait.div_ceil(1000).to_string())),
        sends_retry_after: |status| status == 429,
        gateway_page: NGINX_PAGE,
    };
}

impl OperationRow {
    /// An operation whose requests and answers are neither read nor written.
    pub(super) const UNREAD: Self = Self {
        name: "this endpoint",
        word: "other",
        semantic: None,
        delivery: false,
        was_unknown: false,
        reduction: None,
        is_free: false,
        is_free_unnamed: false,
        has_tool_results: false,
        framing: |_, _| Framing::Sse,
        streams_arrays: false,
        choices: |_| None,
        inputs: None,
        transcript: |_| TranscriptFormat::Json,
        embeds_input: false,
        conversation: None,
        tool_results: None,
        adapter: None,
        read_text: None,
        read: None,
        read_stream: None,
        event_has_text: |_| false,
        merge: None,
        split: None,
        write: None,
        first_event: None,
        stream_error: plain_error,
        shape: |_| None,
        finish: None,
        usage_names: UsageNames {
            input: "prompt_tokens",
            output: "completion_tokens",
            total: Some("total_tokens"),
        },
        outcome: OutcomeRules::HTTP_ONLY,
        addresses: &[],
    };
}

/// The page of a gateway without a vendor's name.
const NGINX_PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

/// The page of Cloudflare's gateway.
pub(super) const CLOUDFLARE_PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n";
