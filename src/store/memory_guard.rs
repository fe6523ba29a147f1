//! The check that there is memory for a large allocation before it is made. An allocation that
//! fails ends the process, and an entry of a file may have any length.

use std::hint::black_box;

/// How many copies of an entry's bytes are in memory while it is read and shown.
pub(super) const TO_READ: usize = 6;

/// Smaller sizes are not checked.
const SMALL: usize = 16 * 1024 * 1024;

/// Whether `times` copies of an entry of `bytes` bytes fit into memory.
pub(super) fn has_room(bytes: usize, times: usize) -> bool {
    if bytes < SMALL {
        return true;
    }
    let mut room: Vec<u8> = Vec::new();
    let found = room.try_reserve_exact(bytes.saturating_mul(times)).is_ok();
    // The compiler could remove an allocation that is not used.
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
