//! The terminal: its width, and text that fits and cannot harm it.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::path::Path;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub use loomrec_identity::printable::{
    printable_json, printable_line, printable_message, printable_styled, printable_text, quote_word,
};
use loomrec_os::terminal_size;

/// Returns the width of the terminal if stdout is one.
pub fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size().map(|size| size.columns).filter(|columns| *columns > 0)
}

/// Returns text that moves the cursor to the beginning of a line, if stdout and stderr are terminals:
/// to the next line only if something is on this one.
///
/// The position of the cursor is not known. Blanks that fill a line less one column stay on it if
/// the cursor is at its beginning, and otherwise go on in the next line. Shells do the same before
/// their prompts.
pub fn fresh_line() -> String {
    let can_move = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    match width().filter(|_| can_move && io::stderr().is_terminal()) {
        Some(width) => format!("{}\r\x1b[K", " ".repeat(width - 1)),
        None => String::new(),
    }
}

/// Returns the number of columns that a text takes on a terminal: a Chinese character takes two.
pub fn column_count(text: &str) -> usize {
    text.width()
}

/// Formats a path on one line.
pub fn path_line(path: &Path) -> String {
    printable_line(&path.display().to_string()).into_owned()
}

/// Returns the beginning of a text that takes at most `limit` columns.
pub fn fit(text: &str, limit: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > limit
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Returns the end of a text that takes at most `limit` columns.
pub fn fit_end(text: &str, limit: usize) -> &str {
    let mut used = 0;
    let begin = text.char_indices().rev().find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > limit
    });
    begin.map_or(text, |(at, character)| &text[at + character.len_utf8()..])
}

/// Cuts a text to at most `limit` columns, the last of them a `…` if something is cut.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if column_count(text) <= limit {
        return text.into();
    }
    format!("{}…", fit(text, limit.saturating_sub(1))).into()
}

/// Returns the blanks that fill a text up to this many columns.
pub fn padding(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(column_count(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_marks_what_it_leaves_out() {
        assert_eq!(cut("héllo", 5), "héllo");
        assert_eq!(cut("héllo!", 5), "héll…");
        assert_eq!(cut("abc", 0), "…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }

    #[test]
    fn a_wide_character_takes_two_columns_from_either_end() {
        assert_eq!((fit("日本語", 5), fit_end("日本語", 5)), ("日本", "本語"));
        assert_eq!((fit("ab", 5), fit_end("ab", 5)), ("ab", "ab"));
        assert_eq!((padding("日本", 6), padding("日本", 3)), ("  ".to_owned(), String::new()));
    }
}
