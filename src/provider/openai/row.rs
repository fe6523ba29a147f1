//! The table rows of OpenAI and its operations, and how its requests are recognised.

use super::path::{deployment_name, unversioned_path};
use super::stream_error::stream_error;
use super::{audio, chat, completions, embeddings, error, limit, responses};
use crate::answer_outcome::{ExpectedBody, OutcomeRules, typed_events};
use crate::error_reason::{ErrorReason, ReasonedError};
use crate::operation::{Operation, OperationRow};
use crate::provider_row::{ErrorRequest, ErrorRow, HeaderList, PathShape, Provider, ProviderRow};
use crate::request_head::{RequestHead, has_header, is_deployment};
use crate::row_default::CLOUDFLARE_PAGE;

impl Provider {
    /// OpenAI and all upstreams with its dialect.
    pub const OPEN_AI: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/chat/completions`
    pub const CHAT_COMPLETIONS: Self = Self::new(&chat::ROW);
    /// `/completions`
    pub const COMPLETIONS: Self = Self::new(&completions::ROW);
    /// `/responses`
    pub const RESPONSES: Self = Self::new(&responses::ROW);
    /// `/embeddings`
    pub const EMBEDDINGS: Self = Self::new(&embeddings::ROW);
    /// `/audio/speech`
    pub const SPEECH: Self = Self::new(&SPEECH);
    /// `/audio/transcriptions` and `/audio/translations`
    pub const TRANSCRIPTION: Self = Self::new(&audio::ROW);
    /// `/images/generations`, `/images/edits` and `/images/variations`
    pub const IMAGES: Self = Self::new(&IMAGES);
    /// `/files` and what is below it
    pub const FILES: Self = Self::new(&FILES);
    /// `/batches` and what is below it
    pub const BATCHES: Self = Self::new(&BATCHES);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "openai",
    semantic: Some("openai"),
    operations: &[
        Operation::CHAT_COMPLETIONS,
        Operation::COMPLETIONS,
        Operation::RESPONSES,
        Operation::EMBEDDINGS,
        Operation::SPEECH,
        Operation::TRANSCRIPTION,
        Operation::IMAGES,
        Operation::FILES,
        Operation::BATCHES,
        Operation::STORED_RESPONSES,
        Operation::RESPONSES_COUNT_TOKENS,
        Operation::COMPACT,
        Operation::RUNS,
        Operation::THREADS,
        Operation::ASSISTANTS,
        Operation::MODERATIONS,
        Operation::VIDEOS,
    ],
    recognise,
    has_path: |path| {
        is_deployment(path) || path.starts_with("/v1/") || path.starts_with("/openai/")
    },
    target,
    errors: ERRORS,
    ..ProviderRow::UNNAMED
};

/// The formats of OpenAI's errors and of its dialects'.
pub(crate) const ERRORS: ErrorRow = ErrorRow {
    own: |error| error::own_body(error.kind, error.named),
    natural: |error_request| {
        error::natural_body(error_request, &error_request.id_with_prefix("req_"))
    },
    identify,
    reason,
    limit: limit::add_headers,
    retry: limit::add_retry,
    sends_retry_after: |status| matches!(status, 429 | 503 | 529),
    gateway_page: CLOUDFLARE_PAGE,
    ..ErrorRow::PLAIN
};

static SPEECH: OperationRow = OperationRow {
    name: "Speech",
    word: "speech",
    semantic: Some("speech"),
    outcome: OutcomeRules {
        body: ExpectedBody::Bytes,
        event: Some(|progress, event| typed_events(progress, event, &["speech.audio.done"])),
        end_mark: "`speech.audio.done`",
        ..OutcomeRules::JSON
    },
    ..UNREAD
};

static IMAGES: OperationRow = OperationRow {
    name: "Images",
    word: "images",
    semantic: Some("images"),
    outcome: OutcomeRules {
        event: Some(|progress, event| typed_events(progress, event, &IMAGE_ENDS)),
        end_mark: "a completed image",
        ..OutcomeRules::JSON
    },
    ..UNREAD
};

/// The events that end a stream of images.
const IMAGE_ENDS: [&str; 2] = ["image_generation.completed", "image_edit.completed"];

static FILES: OperationRow = OperationRow { name: "Files", word: "files", is_free: true, ..UNREAD };

static BATCHES: OperationRow = OperationRow { name: "Batches", word: "batches", ..UNREAD };

const UNREAD: OperationRow = OperationRow { stream_error, ..OperationRow::UNREAD };

/// Where Writer serves chats.
const WRITER_CHAT: &str = "/v1/chat";

/// Recognises OpenAI's resources; `None` for any other path.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let operation = match seen.method {
        "POST" if seen.has_messages && seen.path.ends_with(WRITER_CHAT) => {
            Some(Operation::CHAT_COMPLETIONS)
        }
        "POST" => posted_operation(seen.path),
        _ => None,
    };
    let mut shape = PathShape::new(
        Provider::OPEN_AI,
        operation
            .or_else(|| recognise_files(seen))
            .or_else(|| super::resource::recognise_resource(seen))?,
    );
    shape.model = deployment_name(seen.path);
    Some(shape)
}

fn posted_operation(path: &str) -> Option<Operation> {
    let ends = |suffix| path.ends_with(suffix);
    Some(match () {
        () if ends("/chat/completions") => Operation::CHAT_COMPLETIONS,
        () if ends("/completions") => Operation::COMPLETIONS,
        () if ends("/responses") => Operation::RESPONSES,
        () if ends("/embeddings") => Operation::EMBEDDINGS,
        () if ends("/audio/speech") => Operation::SPEECH,
        () if ends("/audio/transcriptions") || ends("/audio/translations") => {
            Operation::TRANSCRIPTION
        }
        () if ends("/images/generations") || ends("/images/edits") => Operation::IMAGES,
        () if ends("/images/variations") => Operation::IMAGES,
        () => return None,
    })
}

/// Recognises files and batches with any method. Other providers have such paths, too.
fn recognise_files(seen: &RequestHead) -> Option<Operation> {
    let foreign = ["anthropic-version", "x-goog-api-key", "x-goog-api-client"];
    if foreign.iter().any(|name| has_header(seen.headers, name)) {
        return None;
    }
    let rest = seen.path.strip_prefix("/openai").unwrap_or(seen.path);
    let rest = rest.strip_prefix("/v1").unwrap_or(rest);
    match rest.split('/').nth(1)? {
        "files" => Some(Operation::FILES),
        "batches" => Some(Operation::BATCHES),
        _ => None,
    }
}

/// The target in a request's key; `None` for a chat without a query.
fn target(seen: &RequestHead, operation: Operation) -> Option<String> {
    if seen.path.ends_with(WRITER_CHAT) {
        // It keeps the key that it had before its answers were supported.
        return Some(seen.path.to_owned());
    }
    let is_chat = operation == Operation::CHAT_COMPLETIONS;
    if is_chat && seen.query.is_empty() && deployment_name(seen.path).is_none() {
        return None;
    }
    Some(unversioned_path(seen.path).to_owned())
}

fn reason(reason: ErrorReason, usual: ReasonedError) -> ReasonedError {
    match reason {
        ErrorReason::ContextLengthExceeded => {
            ReasonedError { kind: Some("context_length_exceeded"), ..usual }
        }
        ErrorReason::ContentFiltered => ReasonedError { kind: Some("content_filter"), ..usual },
        _ => usual,
    }
}

fn identify(error_request: &ErrorRequest<'_>, headers: &mut HeaderList) {
    if error_request.upstream == "azure" && error_request.provider == Provider::OPEN_AI {
        headers.push(("apim-request-id", error_request.uuid()));
        headers.push(("x-ms-region", "East US".to_owned()));
        headers.push(("x-request-id", error_request.uuid()));
    } else {
        headers.push(("x-request-id", error_request.id_with_prefix("req_")));
    }
}
