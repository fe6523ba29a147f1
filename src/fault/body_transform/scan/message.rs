//! The scanner that finds where the messages of AWS's event stream end. Each message begins with
//! its length.

use super::OpenEvent;

/// Length of the two lengths and their checksum.
const PRELUDE: usize = 12;
/// Bytes besides headers and payload: the prelude, and the checksum at the end.
const AROUND: u64 = 16;

/// The state of the scan.
#[derive(Debug, Default)]
pub(crate) struct MessageScan {
    prelude: [u8; PRELUDE],
    /// How many bytes of the prelude have passed.
    have: usize,
    /// How many bytes of the message are still to come after the prelude.
    left: u64,
    carries: bool,
    /// Whether a prelude was wrong, so that the messages after it cannot be found.
    lost: bool,
}

impl MessageScan {
    pub(super) fn scan(&mut self, chunk: &[u8], on: &mut impl FnMut(usize, bool)) {
        let mut at = 0;
        while at < chunk.len() && !self.lost {
            let rest = &chunk[at..];
            if self.have < PRELUDE {
                let length = rest.len().min(PRELUDE - self.have);
                self.prelude[self.have..self.have + length].copy_from_slice(&rest[..length]);
                self.have += length;
                at += length;
                if self.have == PRELUDE {
                    self.open_message();
                }
                continue;
            }
            let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
            at += length;
            self.left -= length as u64;
            if self.left == 0 {
                on(at, self.carries);
                *self = Self::default();
            }
        }
    }

    fn open_message(&mut self) {
        let number = |at: usize| {
            let bytes = [0, 1, 2, 3].map(|place| self.prelude[at + place]);
            u32::from_be_bytes(bytes)
        };
        let (total, headers) = (u64::from(number(0)), u64::from(number(4)));
        match total.checked_sub(AROUND + headers) {
            Some(payload) if crc32fast::hash(&self.prelude[..8]) == number(8) => {
                self.left = total - PRELUDE as u64;
                self.carries = payload > 0;
            }
            _ => self.lost = true,
        }
    }

    pub(super) fn open(&self) -> Option<OpenEvent> {
        (self.have > 0).then_some(OpenEvent { carries: self.carries, finished: false })
    }
}
