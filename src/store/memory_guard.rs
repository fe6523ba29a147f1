//! Checks that there is memory for a large allocation before it is made: one that fails ends
//! the process, and an entry of a file may have any length.

use std::hint::black_box;

/// How often an entry's bytes are in memory at once while it is read and shown.
pub(super) const TO_READ: usize = 6;

/// For less than this nobody asks.
const SMALL: usize = 16 * 1024 * 1024;

/// Whether an entry of so many bytes can be held so many times over.
pub(super) fn has_room(bytes: usize, times: usize) -> bool {
    if bytes < SMALL {
        return true;
    }
    let mut room: Vec<u8> = Vec::new();
    let found = room.try_reserve_exact(bytes.saturating_mul(times)).is_ok();
    // What nobody sees could be left out.
    black_box(&mut room);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_had_is_told() {
        assert!(has_room(0, 5) && has_room(SMALL - 1, usize::MAX) && has_room(SMALL, 1));
        assert!(!has_room(SMALL, usize::MAX) && !has_room(1 << 60, 1));
    }
}
