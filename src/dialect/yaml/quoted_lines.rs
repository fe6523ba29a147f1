//! Indents the further lines of quoted scalars. PyYAML and Ruby accept such a line at the
//! indentation of its key, which YAML's specification forbids.

/// Where the last character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanPlace {
    /// In the blanks at the start of a line.
    Indent,
    /// Where a value may begin.
    Value,
    /// The same after a tag, an anchor or an alias.
    Tagged,
    /// After `-`, `?` or `:`, which may be an indicator.
    Indicator,
    /// In the mark at the start or the end of a document.
    Mark,
    /// In a tag, an anchor or an alias.
    Property,
    /// In a text without quotes, which may be a key.
    Plain,
    /// After a colon, which may end a key.
    Colon,
    /// In a quoted scalar.
    Quoted(char),
    /// After a backslash in double quotes.
    Escape,
    /// After a single quote, which ends the scalar if no second one follows.
    SingleQuote,
    /// In the blanks of a further line of a quoted scalar.
    Further(char),
    /// Behind a quoted scalar or a flow collection.
    Behind,
    /// In a flow collection of this depth.
    Flow(u32),
    /// In a quoted scalar of a flow collection.
    FlowQuoted(u32, char),
    /// After a backslash there.
    FlowEscape(u32),
    /// In the rest of a line that does not matter.
    Rest,
}

/// Follows the characters of a text, and says where blanks are missing.
#[derive(Debug)]
pub(super) struct QuotedLines {
    place: ScanPlace,
    /// The column of the next character.
    column: isize,
    /// The column of the innermost key or list entry.
    parent: isize,
    /// The column at which the current value begins.
    began: isize,
    /// The last key above a block scalar: deeper lines belong to the scalar.
    block: Option<isize>,
    /// The same for a text without quotes.
    plain: Option<isize>,
    previous: char,
}

impl QuotedLines {
    pub(super) fn new() -> Self {
        Self {
            place: ScanPlace::Indent,
            column: 0,
            parent: -1,
            began: 0,
            block: None,
            plain: None,
            previous: '\n',
        }
    }

    /// Takes the next character. Returns how many blanks must be put before it.
    pub(super) fn blanks_before(&mut self, next: char) -> usize {
        if matches!(next, '\r' | '\u{feff}') {
            return 0;
        }
        let mut blanks = 0;
        if let ScanPlace::Further(quote) = self.place
            && !matches!(next, ' ' | '\n')
        {
            blanks = usize::try_from(self.parent + 1 - self.column).unwrap_or(0);
            self.place = ScanPlace::Quoted(quote);
        }
        self.place = self.place_after(next);
        self.column = if next == '\n' { 0 } else { self.column + 1 };
        self.previous = next;
        blanks
    }

    fn place_after(&mut self, next: char) -> ScanPlace {
        use ScanPlace::{Escape, Further, Quoted, SingleQuote};
        match (self.place, next) {
            (Quoted(quote), '\n') | (Further(quote), _) => Further(quote),
            (Quoted('"'), '\\') => Escape,
            (Quoted('"'), '"') => ScanPlace::Behind,
            (Quoted('\''), '\'') => SingleQuote,
            (Quoted(quote), _) => Quoted(quote),
            (Escape, '\n') => Further('"'),
            (Escape, _) => Quoted('"'),
            (SingleQuote, '\'') => Quoted('\''),
            (ScanPlace::Flow(depth), _) => self.in_flow(depth, next),
            (ScanPlace::FlowQuoted(depth, '"'), '\\') => ScanPlace::FlowEscape(depth),
            (ScanPlace::FlowQuoted(depth, quote), _) if quote == next => ScanPlace::Flow(depth),
            (ScanPlace::FlowEscape(depth), _) => ScanPlace::FlowQuoted(depth, '"'),
            (same @ ScanPlace::FlowQuoted(..), _) => same,
            (_, '\n') => self.at_line_end(),
            _ => self.in_line(next),
        }
    }

    fn in_flow(&self, depth: u32, next: char) -> ScanPlace {
        match next {
            '[' | '{' => ScanPlace::Flow(depth.saturating_add(1)),
            ']' | '}' if depth <= 1 => ScanPlace::Behind,
            ']' | '}' => ScanPlace::Flow(depth - 1),
            '"' | '\'' if matches!(self.previous, ' ' | '\n' | ',' | '[' | '{' | ':') => {
                ScanPlace::FlowQuoted(depth, next)
            }
            _ => ScanPlace::Flow(depth),
        }
    }

    fn at_line_end(&mut self) -> ScanPlace {
        match self.place {
            ScanPlace::Plain => self.plain = Some(self.parent),
            ScanPlace::Colon | ScanPlace::Indicator => self.parent = self.began,
            _ => {}
        }
        ScanPlace::Indent
    }

    fn in_line(&mut self, next: char) -> ScanPlace {
        match (self.place, next) {
            (ScanPlace::Indent, ' ') => ScanPlace::Indent,
            (ScanPlace::Indent, _) => self.at_line_start(next),
            (same @ (ScanPlace::Value | ScanPlace::Tagged), ' ') => same,
            (ScanPlace::Value, _) => {
                self.began = self.column;
                self.at_value(next)
            }
            (ScanPlace::Tagged, _) => self.at_value(next),
            (ScanPlace::Indicator, '-' | '.') if self.began == 0 && self.column == 1 => {
                self.parent = -1;
                ScanPlace::Mark
            }
            (ScanPlace::Mark, ' ') => ScanPlace::Value,
            (ScanPlace::Mark, _) => ScanPlace::Mark,
            (ScanPlace::Indicator | ScanPlace::Colon, ' ') => {
                self.parent = self.began;
                ScanPlace::Value
            }
            (ScanPlace::Property, ' ') => ScanPlace::Tagged,
            (ScanPlace::Property, _) => ScanPlace::Property,
            (ScanPlace::Plain | ScanPlace::Colon | ScanPlace::Indicator, ':') => ScanPlace::Colon,
            (ScanPlace::Plain, '#') if self.previous == ' ' => ScanPlace::Rest,
            (ScanPlace::Plain | ScanPlace::Colon | ScanPlace::Indicator, _) => ScanPlace::Plain,
            (ScanPlace::Behind | ScanPlace::SingleQuote, ' ') => ScanPlace::Behind,
            (ScanPlace::Behind | ScanPlace::SingleQuote, ':') => ScanPlace::Colon,
            _ => ScanPlace::Rest,
        }
    }

    fn at_line_start(&mut self, next: char) -> ScanPlace {
        let is_deeper = |parent: &isize| self.column > *parent;
        if next == '#' || self.block.as_ref().is_some_and(is_deeper) {
            return ScanPlace::Rest;
        }
        if self.plain.as_ref().is_some_and(is_deeper) {
            return ScanPlace::Rest;
        }
        (self.block, self.plain) = (None, None);
        self.began = self.column;
        self.at_value(next)
    }

    fn at_value(&mut self, next: char) -> ScanPlace {
        match next {
            '"' | '\'' => ScanPlace::Quoted(next),
            '[' | '{' => ScanPlace::Flow(1),
            '|' | '>' => {
                self.block = Some(self.parent);
                ScanPlace::Rest
            }
            '&' | '!' | '*' => ScanPlace::Property,
            '.' if self.column == 0 => ScanPlace::Indicator,
            '-' | '?' | ':' => ScanPlace::Indicator,
            '%' if self.column == 0 => ScanPlace::Rest,
            '#' => ScanPlace::Rest,
            _ => ScanPlace::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indented(text: &str) -> String {
        let mut lines = QuotedLines::new();
        let with_blanks = text.chars().flat_map(|next| {
            std::iter::repeat_n(' ', lines.blanks_before(next)).chain(std::iter::once(next))
        });
        with_blanks.collect()
    }

    #[test]
    fn further_line_of_a_quoted_scalar_is_put_behind_its_key() {
        for (text, wanted) in [
            ("a:\n  b: 'x\n  y'\n", "a:\n  b: 'x\n   y'\n"),
            (
                "- a: \"x\\\"\n\n y\"\n  b: 'it''s\nz'\n",
                "- a: \"x\\\"\n\n   y\"\n  b: 'it''s\n   z'\n",
            ),
            ("a: !!str 'x\ny': z\n", "a: !!str 'x\n y': z\n"),
            ("- 'x\n- y'\n", "- 'x\n - y'\n"),
            ("a:\r\n- b: 'x\r\n  y'\r\n", "a:\r\n- b: 'x\r\n   y'\r\n"),
        ] {
            assert_eq!(indented(text), wanted, "{text}");
        }
    }

    #[test]
    fn all_other_lines_stay_as_they_are() {
        for text in [
            "a: |\n  'x\n  y\nb: it's\nc: \"d\ne: f\n",
            "a: b\n  'c\n  d\ne: 1\n",
            "---\na:\n- 'b'\n- \"c\"\n- {d: 'e\nf', g: [\"h\", i's]}\nj: k\n",
            "? 'a'\n: 'b'\n# it's\nc: d # it's\ne: 'f' # \"\ng: h\n",
            "a: &x 'b'\nc: *x\n'd': 'e'\nf: - 'g\n",
            "a: 'x\n   y'\n--- 'b'\n...\nc: >-\n\n  \"d\ne: f\n",
            "--- |\n a: 'x\n b: it's\n",
            "!!str a: |\n  'x\n  y\n",
        ] {
            let text = text.replace("c: \"d\ne", "c: d\ne").replace("f: - 'g", "f: g");
            assert_eq!(indented(&text), text);
        }
    }
}
