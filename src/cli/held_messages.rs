//! Messages that wait while a command holds the terminal, as agents with a page of their own do:
//! printed at once, they would be drawn across it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many messages wait. The rest is counted.
const MOST_MESSAGES: usize = 100;
/// How many bytes of messages wait.
const MOST_BYTES: usize = 1 << 20;

/// The messages that wait, if any do.
#[derive(Debug)]
pub struct HeldMessages {
    /// Whether the terminal is in raw mode.
    is_raw: fn() -> bool,
    waiting: Mutex<MessageQueue>,
}

#[derive(Debug, Default)]
struct MessageQueue {
    messages: Vec<String>,
    bytes: usize,
    left_out: usize,
    /// Whether the command has ended, so that nothing waits any more.
    is_over: bool,
}

/// Messages that waited, and are to be printed now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReleasedMessages {
    /// The first of them.
    pub messages: Vec<String>,
    /// How many more there were.
    pub left_out: usize,
}

impl HeldMessages {
    /// Begins to watch the terminal on stderr. `None` if stderr is no terminal, or if the terminal
    /// is in raw mode already: then that says nothing about the command.
    pub fn begin() -> Option<Self> {
        let is_usual = loomrec_os::is_terminal_raw() == Some(false);
        is_usual.then(|| Self::new(|| loomrec_os::is_terminal_raw() == Some(true)))
    }

    fn new(is_raw: fn() -> bool) -> Self {
        Self { is_raw, waiting: Mutex::default() }
    }

    /// Keeps a message if the terminal is held, and returns `None`. Otherwise returns what waited
    /// before it, which has to be printed first.
    pub fn hold(&self, message: &str) -> Option<ReleasedMessages> {
        let mut waiting = self.lock_queue();
        if waiting.is_over || !(self.is_raw)() {
            return Some(waiting.release());
        }
        let bytes = waiting.bytes + message.len();
        if waiting.messages.len() < MOST_MESSAGES && bytes <= MOST_BYTES && waiting.left_out == 0 {
            waiting.messages.push(message.to_owned());
            waiting.bytes = bytes;
        } else {
            waiting.left_out += 1;
        }
        None
    }

    /// Whether the command holds the terminal, so that messages wait.
    pub fn is_holding(&self) -> bool {
        !self.lock_queue().is_over && (self.is_raw)()
    }

    /// Whether messages wait although the terminal is free.
    pub fn can_release(&self) -> bool {
        let waiting = self.lock_queue();
        !waiting.messages.is_empty() && !(self.is_raw)()
    }

    /// Returns what waits.
    pub fn release(&self) -> ReleasedMessages {
        self.lock_queue().release()
    }

    /// Returns what waits; no message waits from now on.
    pub fn end(&self) -> ReleasedMessages {
        let mut waiting = self.lock_queue();
        waiting.is_over = true;
        waiting.release()
    }

    fn lock_queue(&self) -> MutexGuard<'_, MessageQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageQueue {
    fn release(&mut self) -> ReleasedMessages {
        self.bytes = 0;
        ReleasedMessages {
            messages: std::mem::take(&mut self.messages),
            left_out: std::mem::take(&mut self.left_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(messages: &[&str], left_out: usize) -> ReleasedMessages {
        let messages = messages.iter().map(|text| (*text).to_owned()).collect();
        ReleasedMessages { messages, left_out }
    }

    #[test]
    fn messages_wait_while_the_terminal_is_held_until_the_command_ends() {
        let held = HeldMessages::new(|| true);
        assert_eq!((held.hold("a"), held.hold("b")), (None, None));
        assert!(!held.can_release());
        assert_eq!(held.end(), released(&["a", "b"], 0));
        assert_eq!(held.hold("c"), Some(released(&[], 0)));
    }

    #[test]
    fn first_message_to_a_free_terminal_comes_after_those_that_waited() {
        let mut held = HeldMessages::new(|| true);
        assert_eq!(held.hold("a"), None);
        held.is_raw = || false;
        assert!(held.can_release());
        assert_eq!(held.hold("b"), Some(released(&["a"], 0)));
        assert!(!held.can_release());
        assert_eq!(held.release(), released(&[], 0));
    }

    #[test]
    fn number_and_bytes_of_waiting_messages_are_bounded_and_the_rest_is_counted() {
        let held = HeldMessages::new(|| true);
        (0..250).for_each(|number| drop(held.hold(&number.to_string())));
        let out = held.release();
        assert_eq!((out.messages.len(), out.left_out), (MOST_MESSAGES, 150));
        assert_eq!((out.messages[0].as_str(), out.messages[99].as_str()), ("0", "99"));
        // Nothing after the first that is left out is kept, so that the order has no gaps.
        for message in ["x".repeat(MOST_BYTES), "y".to_owned(), "z".to_owned()] {
            assert_eq!(held.hold(&message), None);
        }
        let out = held.release();
        assert_eq!((out.messages.len(), out.left_out), (1, 2));
    }
}
