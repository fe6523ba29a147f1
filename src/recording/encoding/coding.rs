//! Content codings, and why a body cannot be decoded.

/// The most plain bytes to which a reader of recordings decodes a body. It equals the recorder's
/// default limit for an answer.
pub const LARGEST: usize = 64 << 20;

/// Plain bytes that are held before their number is known. A longer body is decoded twice: once to
/// check that it is not too large, and once to hold it.
pub(super) const HELD: usize = 8 << 20;

/// Why a body could not be decoded. Reads after "the body".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Its coding is unknown, or it has too many codings.
    #[error("has a content-encoding that is not known")]
    Unknown,
    /// It ends too early. All bytes that exist were decoded.
    #[error("ends before its content-encoding does")]
    Cut,
    /// The bytes do not decode, or other bytes follow the end of the coding. Not all bytes were
    /// examined.
    #[error("does not decode as its content-encoding says")]
    Damaged,
    /// There are more plain bytes than allowed.
    #[error("decodes to more bytes than are looked at ({} MiB)", LARGEST >> 20)]
    TooLarge,
}

/// Some plain bytes, and the encoded piece that completed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainPiece {
    /// The index of the encoded piece.
    pub of: usize,
    /// The plain bytes.
    pub data: Vec<u8>,
}

/// A known coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentCoding {
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Zstandard,
}
