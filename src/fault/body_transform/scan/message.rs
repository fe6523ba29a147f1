//! Where the messages of AWS's event stream end: their length stands at their
//! beginning.

use super::OpenEvent;

/// The two lengths and their checksum.
const PRELUDE: usize = 12;
/// What surrounds headers and payload: that, and the checksum at the end.
const AROUND: u64 = 16;

/// Where the scan stands.
#[derive(Debug, Default)]
pub(crate) struct MessageScan {
    prelude: [u8; PRELUDE],
    /// How much of it has passed.
    have: usize,
    /// How much of the message is still to come behind it.
    left: u64,
    carries: bool,
    /// A length was wrong: nothing can be told apart any more.
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
