//! Text that comes from outside, made safe to print.
//!
//! The contents of a recording, a request or an answer may come from anyone. Written to a terminal
//! unchanged, they could move the cursor, set the title, reverse the text direction, or begin a
//! line that looks like one of loomrec's own.

use std::borrow::Cow;

/// The text on one line: line feeds and everything else that a terminal would act on are written as
/// escapes.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escape_characters(text, |character| {
        is_active(character) || character == '\n' || character == '\t'
    })
}

/// The text with its line feeds and tabs; everything else that a terminal would act on is written
/// as escapes.
pub fn printable_text(text: &str) -> Cow<'_, str> {
    escape_characters(text, is_active)
}

/// A message. Later lines are indented, so that none can be taken for a separate message.
/// Everything that a terminal would act on is written as escapes.
pub fn printable_message(text: &str) -> Cow<'_, str> {
    let text = printable_text(text);
    if !text.contains('\n') {
        return text;
    }
    let indented = |line: &str| match line.is_empty() || line.starts_with("  ") {
        true => line.to_owned(),
        false => format!("  {line}"),
    };
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| format!("{text}\n{}", indented(line))).into()
}

/// The text with its line feeds, tabs and colours; everything else that a terminal would act on is
/// written as escapes. It is for texts that loomrec composes from parts that went through
/// [`printable_line()`].
pub fn printable_styled(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(is_active) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let colour = colour_at(from);
        let end = match colour {
            0 => from.chars().next().map_or(0, char::len_utf8),
            colour => colour,
        };
        let (active, behind) = from.split_at(end);
        match colour {
            0 => out.push_str(&printable_text(active)),
            _ => out.push_str(active),
        }
        rest = behind;
    }
    out.push_str(rest);
    out.into()
}

/// The length in bytes of the colour that a text begins with (`ESC [ 1 ; 31 m`), or 0.
fn colour_at(text: &str) -> usize {
    let Some(inside) = text.strip_prefix("\u{1b}[") else { return 0 };
    let digits = inside.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    match inside.as_bytes().get(digits) {
        Some(b'm') => 2 + digits + 1,
        _ => 0,
    }
}

/// JSON text without anything that a terminal would act on. Such characters only occur in strings,
/// where an escape means the same.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) {
            // All of them fit in the 16 bits of one escape.
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out.into()
}

/// Whether a terminal acts on the character instead of showing it. Such are control characters
/// except line feed and tab, and characters that change the direction of writing.
fn is_active(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (character.is_control() && character != '\n' && character != '\t')
}

fn escape_characters(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
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

/// Quotes a word for the shell.
pub fn quote_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@,+".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_where_a_terminal_would_act() {
        assert_eq!(
            printable_line("a\u{1b}[31m\nb\r\t\u{202e}é"),
            "a\\u{1b}[31m\\nb\\r\\t\\u{202e}é"
        );
        assert_eq!(printable_text("a\n\tb\u{9b}1m"), "a\n\tb\\u{9b}1m");
        assert!(matches!(printable_line("plain — ☃"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_the_first_line_of_a_message_begins_at_the_margin() {
        assert_eq!(printable_message("a\n  b\nloomrec: ok\n\tc"), "a\n  b\n  loomrec: ok\n  \tc");
        assert_eq!(printable_message("a\rloomrec: ok\u{85}b"), "a\\rloomrec: ok\\u{85}b");
        assert!(matches!(printable_message("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn styled_text_keeps_colours_and_nothing_else_that_a_terminal_acts_on() {
        let text = "\u{1b}[1;31mred\u{1b}[0m\n\u{1b}]0;T\u{7}\u{1b}[2J\u{1b}[31\u{1b}[m\u{9b}1m";
        let safe =
            "\u{1b}[1;31mred\u{1b}[0m\n\\u{1b}]0;T\\u{7}\\u{1b}[2J\\u{1b}[31\u{1b}[m\\u{9b}1m";
        assert_eq!(printable_styled(text), safe);
        assert!(matches!(printable_styled("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same_when_it_is_escaped() {
        let value = serde_json::json!({ "a\u{7f}": ["\u{9b}", "\u{202e}", "\u{1b}", "é\n"] });
        let text = value.to_string();
        let safe = printable_json(&text);
        assert!(!safe.contains(['\u{7f}', '\u{9b}', '\u{202e}', '\u{1b}']), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
