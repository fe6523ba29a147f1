//! Content codings, and why a body cannot be decoded.

/// The most plain bytes that a reader of recordings decodes a body to. It equals the
/// recorder's default limit for an answer.
pub const LARGEST: usize = 64 << 20;

/// Plain bytes that are held before it is known how many there are. A body that has
/// more is decoded twice: to see that it is not too large, and to hold it.
pub(super) const HELD: usize = 8 << 20;

/// Why a body has no plain bytes. Shown behind "the body".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Its coding is not one of ours, or there are too many of them.
    #[error("has a content-encoding that is not known")]
    Unknown,
    /// It ends too early. All bytes that there are were decoded.
    #[error("ends before its content-encoding does")]
    Cut,
    /// The bytes do not decode, or other bytes follow the end of the coding. Not all of
    /// them were looked at.
    #[error("does not decode as its content-encoding says")]
    Damaged,
    /// There are more plain bytes than are wanted.
    #[error("decodes to more bytes than are looked at ({} MiB)", LARGEST >> 20)]
    TooLarge,
}

/// Some plain bytes, and which of the encoded pieces completed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainPiece {
    /// The index of the encoded piece.
    pub of: usize,
    /// The plain bytes.
    pub data: Vec<u8>,
}

/// A coding that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentCoding {
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Zstandard,
}
