//! An answer as it arrived: what its outcome is computed from.

use crate::grpc::GrpcStatus;
use crate::operation::Operation;

/// How the transport of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportEnd {
    /// All of it arrived.
    Complete,
    /// The connection was closed before the end of the body.
    Closed,
    /// The connection was reset.
    Reset,
    /// The client left, and the rest did not arrive.
    ClientLeft,
    /// It was larger than the limit for copies.
    TooLarge,
}

/// The body of an answer, without its content coding.
#[derive(Clone, Copy, Debug)]
pub enum ReceivedBody<'a> {
    /// Its bytes.
    Plain(&'a [u8]),
    /// The compressed bytes end early.
    CutCoding,
    /// The compressed bytes do not decode.
    DamagedCoding,
    /// It cannot be read here: an unknown coding, or too many bytes.
    Unread,
}

/// An answer as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedAnswer<'a> {
    /// The operation that the request called.
    pub operation: Operation,
    /// The request's method.
    pub method: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// The media type, without parameters; empty if there is none.
    pub media: &'a str,
    /// The body.
    pub body: ReceivedBody<'a>,
    /// Whether the body was already read as one JSON document that is such an answer.
    pub is_read: bool,
    /// How the transport ended.
    pub end: TransportEnd,
    /// The status that its trailers or its head give for gRPC.
    pub grpc_status: Option<&'a GrpcStatus>,
}

impl TransportEnd {
    /// Why an answer with this end is unfinished; `None` for a complete one.
    pub(super) fn unfinished_reason(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::Closed => Some("the connection was closed before the end of the body"),
            Self::Reset => Some("the connection was reset"),
            Self::ClientLeft => Some("the client left before the end"),
            Self::TooLarge => Some("it is larger than the limit of --max-body"),
        }
    }
}
