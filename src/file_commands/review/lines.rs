//! Wrapping of coloured text into lines that fit a terminal.

use unicode_width::UnicodeWidthChar as _;

/// The sequence that resets all colours.
const PLAIN: &str = "\u{1b}[0m";

/// Wraps a text into lines of the terminal's width. Colours continue in the next line.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(line, width.max(2))).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let (mut out, mut present, mut used) = (Vec::new(), String::new(), 0);
    let mut colours: Vec<String> = Vec::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // The text contains only loomrec's own sequences, which end in `m`.
            let mut sequence = String::from(character);
            for next in characters.by_ref() {
                sequence.push(next);
                if next == 'm' {
                    break;
                }
            }
            present.push_str(&sequence);
            match sequence.as_str() {
                PLAIN => colours.clear(),
                // This ends only the foreground colour.
                "\u{1b}[39m" => colours.retain(|one| !one.starts_with("\u{1b}[3")),
                _ => colours.push(sequence),
            }
            continue;
        }
        let wide = character.width().unwrap_or(0);
        if used + wide > width {
            if !colours.is_empty() {
                present.push_str(PLAIN);
            }
            out.push(std::mem::replace(&mut present, colours.concat()));
            used = 0;
        }
        present.push(character);
        used += wide;
    }
    out.push(present);
    out
}

#[cfg(test)]
mod tests {
    use owo_colors::OwoColorize as _;
    use proptest::prelude::*;

    use super::*;
    use loomrec_cli::terminal::fit;

    fn bare(lines: &[String]) -> String {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn lines_end_where_the_terminal_does_and_colours_go_on() {
        let text = format!("ab{}gh", "cdef".red());
        let lines = wrap(&text, 4);
        assert_eq!(lines.len(), 2);
        assert_eq!(bare(&lines), "abcdefgh");
        assert_eq!(lines[0], "ab\u{1b}[31mcd\u{1b}[0m");
        assert_eq!(lines[1], "\u{1b}[31mef\u{1b}[39mgh");
        assert_eq!(wrap("a\n\nb", 10), ["a", "", "b"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"], "each is two wide");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_wider(text in "[a-zé日 ]{0,60}", width in 0..12usize) {
            let coloured = format!("{}{}", text.red().reversed(), text.bold());
            let lines = wrap(&coloured, width);
            prop_assert_eq!(bare(&lines), format!("{text}{text}"));
            for line in &lines {
                let line = anstream::adapter::strip_str(line).to_string();
                prop_assert_eq!(fit(&line, width.max(2)), line.as_str());
            }
        }
    }
}
