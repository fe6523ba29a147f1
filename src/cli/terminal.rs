//! The terminal: how wide it is, and text that cannot harm it.
//!
//! What stands in a recording may come from anyone; written to a terminal as it
//! is, it could move the cursor, set the title or turn the line round.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};

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

/// The text on one line: line feeds and whatever else a terminal would act on
/// are written as escapes.
pub(super) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |character| is_active(character) || character == '\n' || character == '\t')
}

/// The text with its line feeds and tabs, anything else that a terminal would
/// act on written as escapes.
pub(super) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, is_active)
}

/// JSON text without anything a terminal would act on. Such characters can only
/// stand in strings, where an escape means the same.
pub(super) fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) {
            // None of them is beyond the 16 bits of one escape.
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out.into()
}

/// The first `limit` characters, the last of them a `…` where some are left out.
pub(super) fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().count() <= limit {
        return text.into();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{kept}…").into()
}

/// Whether a terminal acts on it instead of showing it: control characters but
/// for line feed and tab, and those that change the direction of writing.
fn is_active(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && character != '\n' && character != '\t')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            _ if !is_escaped(character) => out.push(character),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_where_a_terminal_would_act() {
        assert_eq!(line("a\u{1b}[31m\nb\r\t\u{202e}é"), "a\\u{1b}[31m\\nb\\r\\t\\u{202e}é");
        assert_eq!(block("a\n\tb\u{9b}1m"), "a\n\tb\\u{9b}1m");
        assert!(matches!(line("plain — ☃"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same_when_it_is_escaped() {
        let value = serde_json::json!({ "a\u{7f}": ["\u{9b}", "\u{202e}", "\u{1b}", "é\n"] });
        let text = value.to_string();
        let safe = json(&text);
        assert!(!safe.contains(['\u{7f}', '\u{9b}', '\u{202e}', '\u{1b}']), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn cut_marks_what_it_leaves_out() {
        assert_eq!(cut("héllo", 5), "héllo");
        assert_eq!(cut("héllo!", 5), "héll…");
        assert_eq!(cut("abc", 0), "…");
    }
}
