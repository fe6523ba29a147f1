//! The ends of event stream messages: each message begins with its length.

use super::super::split_state::{EventEnd, OpenEvent};
use super::prelude::{PRELUDE, Prelude};

/// Finds the ends of messages.
#[derive(Debug, Default)]
pub(in crate::framing) struct MessageSplitter {
    prelude: [u8; PRELUDE],
    /// How many bytes of the prelude have passed.
    passed: usize,
    /// How many bytes of the message follow.
    left: usize,
    carries: bool,
    /// Whether a length was wrong, so that no later message can be found.
    lost: bool,
}

impl MessageSplitter {
    pub(in crate::framing) fn next_end(&mut self, bytes: &[u8]) -> Option<EventEnd> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.lost {
            if self.passed < PRELUDE {
                let length = rest.len().min(PRELUDE - self.passed);
                self.prelude[self.passed..self.passed + length].copy_from_slice(&rest[..length]);
                self.passed += length;
                rest = &rest[length..];
                if self.passed == PRELUDE {
                    self.open_message();
                }
                continue;
            }
            let length = self.left.min(rest.len());
            rest = &rest[length..];
            self.left -= length;
            if self.left == 0 {
                let Self { carries, .. } = std::mem::take(self);
                return Some(EventEnd { at: bytes.len() - rest.len(), carries });
            }
        }
        None
    }

    fn open_message(&mut self) {
        match Prelude::from_bytes(&self.prelude) {
            Some(prelude) => {
                self.left = prelude.total - PRELUDE;
                self.carries = prelude.has_payload();
            }
            None => self.lost = true,
        }
    }

    pub(in crate::framing) fn open_event(&self) -> Option<OpenEvent> {
        let Self { carries, lost, .. } = *self;
        (self.passed > 0).then_some(OpenEvent { carries, finished: false, lost })
    }
}
