//! A minimal reader of Rust source that lists its paths: tokens without comments and literals,
//! `use` trees expanded, inline modules known.

/// A relevant token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    Mark(char),
}

impl Token {
    fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            Token::Mark(_) => None,
        }
    }
}

/// A path as written, and the inline modules around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) inside: Vec<String>,
    pub(crate) segments: Vec<String>,
    pub(crate) import: Option<Import>,
}

/// How a `use` imports a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The name it gets: the last word, or the one after `as`.
    pub(crate) name: String,
    /// Whether other modules may name it here (`pub use`).
    pub(crate) reexported: bool,
}

/// An item that a text defines outside of functions and `impl` blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) inside: Vec<String>,
    pub(crate) name: String,
    /// Whether it is an inline module.
    pub(crate) is_module: bool,
}

/// The tokens of a source text: words and punctuation, in order.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let next = chars.get(at + 1).copied();
        if c == '/' && next == Some('/') {
            at = chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n);
        } else if c == '/' && next == Some('*') {
            at = after_block_comment(&chars, at);
        } else if let Some(end) = after_string(&chars, at) {
            at = end;
        } else if c == '\'' {
            at = after_quote(&chars, at);
        } else if c.is_alphanumeric() || c == '_' {
            let end = word_end(&chars, at);
            let word: String = chars[at..end].iter().collect();
            at = end;
            out.push(Token::Word(word));
        } else {
            if !c.is_whitespace() {
                out.push(Token::Mark(c));
            }
            at += 1;
        }
    }
    out
}

fn word_end(chars: &[char], from: usize) -> usize {
    let rest = &chars[from..];
    rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').map_or(chars.len(), |n| from + n)
}

fn after_block_comment(chars: &[char], from: usize) -> usize {
    let mut depth = 0usize;
    let mut at = from;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// The end of a string literal that starts at `from`: `"…"`, `b"…"`, `c"…"`, `r#"…"#`, `br"…"`.
fn after_string(chars: &[char], from: usize) -> Option<usize> {
    let mut at = from;
    let mut raw = false;
    while let Some(&c) = chars.get(at) {
        match c {
            'b' | 'c' if at == from => at += 1,
            'r' if !raw && at - from <= 1 => (raw, at) = (true, at + 1),
            _ => break,
        }
    }
    let hashes = chars[at..].iter().take_while(|&&c| raw && c == '#').count();
    at += hashes;
    if chars.get(at) != Some(&'"') {
        return None;
    }
    at += 1;
    while at < chars.len() {
        if !raw && chars[at] == '\\' {
            at += 2;
        } else if chars[at] == '"' && chars[at + 1..].iter().take(hashes).all(|&c| c == '#') {
            return Some((at + 1 + hashes).min(chars.len()));
        } else {
            at += 1;
        }
    }
    Some(chars.len())
}

/// The position after a char literal or after a lifetime's quote.
fn after_quote(chars: &[char], from: usize) -> usize {
    match (chars.get(from + 1), chars.get(from + 2)) {
        (Some('\\'), _) => {
            let body = &chars[(from + 3).min(chars.len())..];
            body.iter().position(|&c| c == '\'').map_or(chars.len(), |n| from + 4 + n)
        }
        (Some(_), Some('\'')) => from + 3,
        _ => word_end(chars, from + 1),
    }
}

/// The tokens without the items under `#[cfg(test)]`.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let gate: Vec<Token> = self::tokens("#[cfg(test)]");
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&gate) {
            at = item_end(tokens, at + gate.len());
        } else {
            out.push(tokens[at].clone());
            at += 1;
        }
    }
    out
}

/// The end of the item that starts at `from`: after its `;` or its braces.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0usize;
    for (n, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark(close @ ('}' | ')' | ']')) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && *close == '}' {
                    return n + 1;
                }
            }
            Token::Mark(';') if depth == 0 => return n + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether some attribute switches a lint off with `allow(…)`.
pub(crate) fn has_bare_allow(tokens: &[Token]) -> bool {
    let mut rest = tokens;
    while let Some(start) = rest.iter().position(|t| *t == Token::Mark('#')) {
        rest = &rest[start + 1..];
        let skip = usize::from(rest.first() == Some(&Token::Mark('!')));
        if rest.get(skip) != Some(&Token::Mark('[')) {
            continue;
        }
        let mut depth = 0usize;
        let end = rest[skip..].iter().position(|t| {
            depth += usize::from(*t == Token::Mark('['));
            depth -= usize::from(*t == Token::Mark(']'));
            depth == 0
        });
        let attribute = &rest[skip..end.map_or(rest.len(), |n| skip + n)];
        let opens = [Token::Word("allow".into()), Token::Mark('(')];
        if attribute.windows(2).any(|pair| pair == opens) {
            return true;
        }
    }
    false
}

/// Every path in the text: imports, expanded leaf by leaf, and paths in code. Names of fields and
/// methods are not paths.
pub(crate) fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut out = Vec::new();
    let mut braces: Vec<Option<String>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let inside = || braces.iter().flatten().cloned().collect::<Vec<_>>();
        match &tokens[at] {
            Token::Mark('{') => braces.push(inline_module(tokens, at)),
            Token::Mark('}') => drop(braces.pop()),
            Token::Word(word) if word == "use" && tokens.get(at + 1) != Some(&Token::Mark('<')) => {
                let reexported = is_public(tokens, at);
                let mut leaves = Vec::new();
                at = use_tree(tokens, at + 1, &[], &mut leaves);
                let inside = inside();
                out.extend(leaves.into_iter().map(|(segments, name)| Path {
                    inside: inside.clone(),
                    segments,
                    import: Some(Import { name, reexported }),
                }));
                continue;
            }
            Token::Word(_) => {
                let (segments, end) = plain_path(tokens, at);
                if !is_member_access(tokens, at) {
                    out.push(Path { inside: inside(), segments, import: None });
                }
                at = end;
                continue;
            }
            Token::Mark(_) => {}
        }
        at += 1;
    }
    out
}

/// Every item in a module, not in a block: functions, types, constants, macros, inline modules.
pub(crate) fn items(tokens: &[Token]) -> Vec<Item> {
    let mut out = Vec::new();
    let mut braces: Vec<Option<String>> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('{') => braces.push(inline_module(tokens, at)),
            Token::Mark('}') => drop(braces.pop()),
            Token::Word(name) if braces.iter().all(Option::is_some) => {
                let before = at.checked_sub(1).and_then(|n| tokens[n].word());
                let is_module =
                    before == Some("mod") && tokens.get(at + 1) == Some(&Token::Mark('{'));
                let is_macro = before.is_none() && is_macro_name(tokens, at);
                if is_module || is_macro || before.is_some_and(is_item_keyword) {
                    let inside = braces.iter().flatten().cloned().collect();
                    out.push(Item { inside, name: name.clone(), is_module });
                }
            }
            _ => {}
        }
    }
    out
}

fn is_item_keyword(word: &str) -> bool {
    matches!(word, "fn" | "struct" | "enum" | "trait" | "type" | "union" | "const" | "static")
}

fn is_macro_name(tokens: &[Token], at: usize) -> bool {
    at >= 2 && tokens[at - 1] == Token::Mark('!') && tokens[at - 2].word() == Some("macro_rules")
}

/// Whether the `use` at `at` follows `pub` or `pub(…)`.
fn is_public(tokens: &[Token], at: usize) -> bool {
    let mut before = tokens[..at].iter().rev();
    match before.next() {
        Some(Token::Word(word)) => word == "pub",
        Some(Token::Mark(')')) => {
            let inner = before.take_while(|token| **token != Token::Mark('(')).count();
            let open = at.checked_sub(inner + 3);
            open.is_some_and(|open| tokens[open].word() == Some("pub"))
        }
        _ => false,
    }
}

/// Whether the word at `at` follows the single dot of a field or a method.
fn is_member_access(tokens: &[Token], at: usize) -> bool {
    let dot = |n: usize| at.checked_sub(n).is_some_and(|n| tokens[n] == Token::Mark('.'));
    dot(1) && !dot(2)
}

/// The module's name, if the brace at `at` opens an inline module.
fn inline_module(tokens: &[Token], at: usize) -> Option<String> {
    let name = tokens.get(at.checked_sub(1)?)?.word()?;
    let keyword = tokens.get(at.checked_sub(2)?)?.word()?;
    (keyword == "mod").then(|| name.to_owned())
}

fn is_colons(tokens: &[Token], at: usize) -> bool {
    tokens.get(at) == Some(&Token::Mark(':')) && tokens.get(at + 1) == Some(&Token::Mark(':'))
}

fn plain_path(tokens: &[Token], from: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let mut at = from;
    while let Some(word) = tokens.get(at).and_then(Token::word) {
        segments.push(word.to_owned());
        at += 1;
        if !is_colons(tokens, at) || tokens.get(at + 2).and_then(Token::word).is_none() {
            break;
        }
        at += 2;
    }
    (segments, at)
}

/// Reads the use tree at `at`; returns its leaves, each with its name, and its end.
fn use_tree(
    tokens: &[Token],
    at: usize,
    prefix: &[String],
    out: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let at = if is_colons(tokens, at) { at + 2 } else { at };
    let (segments, mut at) = plain_path(tokens, at);
    let mut path = prefix.to_vec();
    path.extend(segments);
    let more = is_colons(tokens, at);
    at += if more { 2 } else { 0 };
    let mut alias = None;
    match tokens.get(at) {
        Some(Token::Mark('{')) if more || path.is_empty() || path == prefix => {
            at += 1;
            while at < tokens.len() && tokens[at] != Token::Mark('}') {
                let before = at;
                at = use_tree(tokens, at, &path, out);
                at += usize::from(tokens.get(at) == Some(&Token::Mark(',')));
                at = at.max(before + 1);
            }
            return at + 1;
        }
        Some(Token::Mark('*')) => {
            path.push("*".to_owned());
            at += 1;
        }
        Some(Token::Word(word)) if word == "as" => {
            alias = tokens.get(at + 1).and_then(Token::word).map(str::to_owned);
            at += 2;
        }
        _ => {}
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
    out.push((path, name));
    at
}
