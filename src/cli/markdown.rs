//! Text from outside as Markdown that shows it and nothing else.

use super::terminal;

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Formats a text on one line as code, also for a table cell.
pub fn format_code(text: &str) -> String {
    let line = terminal::printable_line(text).replace('|', "\\|");
    let fence = "`".repeat(longest_run(&line) + 1);
    let blank = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    match line.is_empty() {
        true => String::new(),
        false => format!("{fence}{blank}{line}{blank}{fence}"),
    }
}

/// Escapes a text on one line for HTML.
pub fn escape_html(text: &str) -> String {
    let line = terminal::printable_line(text);
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Formats lines as a block of code. Each line ends with a line break.
pub fn code_block(language: &str, lines: &str) -> String {
    let fence = "`".repeat(longest_run(lines).max(2) + 1);
    format!("{fence}{language}\n{lines}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code_whatever_stands_in_it() {
        assert_eq!(format_code("plain"), "`plain`");
        assert_eq!(format_code("a|b`c``d"), "```a\\|b`c``d```");
        assert_eq!(format_code("`x`"), "`` `x` ``");
        assert_eq!(format_code("a\nb"), "`a\\nb`");
        assert_eq!(format_code(""), "");
    }

    #[test]
    fn html_is_written_as_text() {
        assert_eq!(escape_html("<b>&@x"), "&lt;b&gt;&amp;@x");
    }
}
