//! The terminal: how wide it is, and text that fits and cannot harm it.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};

pub(super) use crate::printable::{block, json, line, message, styled};

/// The width of the terminal that stdout is; `None` where it is none.
pub(super) fn width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether the other end of a pipe is gone, or of a terminal.
pub(super) fn nobody_reads(out: &impl AsFd) -> bool {
    // Only what went wrong is asked for, which is always told.
    let mut polled = [PollFd::new(out, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP;
    rustix::event::poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(gone)
}

/// The first `limit` characters, the last of them a `…` where some are left out.
pub(super) fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().count() <= limit {
        return text.into();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{kept}…").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_marks_what_it_leaves_out() {
        assert_eq!(cut("héllo", 5), "héllo");
        assert_eq!(cut("héllo!", 5), "héll…");
        assert_eq!(cut("abc", 0), "…");
    }
}
