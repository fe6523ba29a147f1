//! The providers' wire formats: which operation a request asks for, what an answer says, how an
//! error looks to that provider's SDK.
//!
//! Reading is tolerant: an unknown field or event is skipped. The stored bytes are authoritative.
//! They are always served, unless a caller asks for the other mode of delivery.
//!
//! Each provider has a folder. Its `row.rs` says how its requests are recognised and its errors
//! written. There is a file for each operation that is read or written, with a `ROW` that lists the
//! functions. [`recognise_request`] finds the operation of a request, [`read_answer`] returns what
//! an answer says, [`to_complete`] and [`to_stream`] change the mode of delivery, [`write_answer`] makes
//! an answer from its content alone, [`error_body()`] writes one of loomrec's errors in the
//! provider's format, [`natural_error()`] writes one of the provider's own, and [`directory`] lists
//! the upstreams that loomrec knows.

mod adapter;
mod address_member;
mod answer;
mod answer_draft;
mod answer_form;
mod answer_outcome;
mod answer_shape;
mod anthropic;
mod bedrock;
mod client_audio;
mod cohere;
pub mod conversation;
pub mod credential;
pub mod directory;
mod error_body;
mod error_reason;
mod error_request;
mod error_text;
mod event_text;
pub mod framing;
mod gemini;
mod grpc;
mod json_rpc;
mod json_view;
mod lone_half;
mod mcp;
mod mode;
mod needs_merge;
mod ollama;
mod openai;
mod operation;
mod perplexity;
mod provider_error;
mod provider_row;
mod read;
pub mod recognise;
mod request_head;
mod response_format;
mod row_default;
mod socket_audio;
mod socket_protocol;
mod stream_error;
mod synthesis;
mod table;
mod text_role;
mod tool_result;
mod vectors;
mod voyage;

pub use address_member::{FoundAddress, address_members, find_addresses};
pub use answer::{Answer, TokenUsage, ToolCall};
pub use answer_form::{ModeError, TranscriptFormat, VectorTypes};
pub use answer_outcome::{
    AnswerOutcome, JudgedAnswer, ReceivedAnswer, ReceivedBody, TransportEnd, is_stream_finished,
    judge_answer,
};
pub use answer_shape::{AnswerShape, CallSlot};
pub use client_audio::ClientAudio;
pub use directory::{KnownUpstream, upstream_for};
pub use error_body::{error_body, error_head, error_headers};
pub use error_reason::{ErrorReason, ReasonedError};
pub use error_request::request_id_headers;
pub use error_text::{error_text, stated_error};
pub use framing::{EventFrame, Framing};
pub use grpc::{GrpcStatus, is_grpc_media};
pub use mcp::{
    RpcEdit, RpcFacts, RpcIds, RpcKind, RpcMethod, RpcSessionIds,
    SESSION_HEADER as RPC_SESSION_HEADER, ToolRequest, UnknownRpcId, rpc_closed_error,
    rpc_error_responses, rpc_reports_error,
};
pub use mode::{reframe, to_complete, to_stream, write_answer};
pub use operation::{AddressMembers, Operation, ResponseFormat, StreamError, UsageNames};
pub use provider_error::{ProviderError, natural_error, natural_error_after};
pub use provider_row::{ErrorRequest, Provider, RecognisedCall};
pub use read::{read_answer, read_complete};
pub use recognise::{
    begins_with_version, chat_mount, has_delivery_mode, key_reduction, recognise_request,
};
pub use request_head::RequestHead;
pub use socket_audio::{MessageAudio, SocketAudio};
pub use socket_protocol::SocketProtocol;
pub use stream_error::stream_error;
pub use synthesis::{
    AnswerPart, SynthesizedEvents, number_events, split_end, synthesize, whole_answer, without_end,
};
pub use text_role::{CALL_REFERENCES, text_roles};

#[cfg(test)]
mod test_calls;
#[cfg(test)]
mod tests;
