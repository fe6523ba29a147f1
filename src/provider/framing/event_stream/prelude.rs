//! The beginning of an event stream message: its lengths.

/// Length of the two lengths and their checksum.
pub(super) const PRELUDE: usize = 12;
/// Length of the checksum at the end.
pub(super) const TRAILER: usize = 4;

/// The lengths at the beginning of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prelude {
    /// The length of the message.
    pub(super) total: usize,
    /// The length of its headers.
    pub(super) headers: usize,
}

impl Prelude {
    /// Reads the lengths; `None` if the checksum or the lengths are wrong.
    pub(super) fn from_bytes(bytes: &[u8; PRELUDE]) -> Option<Self> {
        let (total, headers) = (number_at(bytes, 0)? as usize, number_at(bytes, 4)? as usize);
        let fits = headers <= total.checked_sub(PRELUDE + TRAILER)?;
        let is_right = fits && number_at(bytes, 8)? == crc32fast::hash(&bytes[..8]);
        is_right.then_some(Self { total, headers })
    }

    /// Whether the message has a payload.
    pub(super) fn has_payload(self) -> bool {
        self.total > PRELUDE + self.headers + TRAILER
    }
}

/// The number in the four bytes at `at`.
pub(super) fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
