//! The rules of identity: which places of a request body are left out of its key.
//!
//! A place is an RFC 6901 pointer into the request body as it was sent, such as `/metadata/run_id`
//! or `/messages/0/content`. It leaves out that one place and what is below it; there are no
//! wildcards (`*` is a key like any other). A member is left out completely, as if it were absent.
//! An element is replaced by `null`, so that its neighbours keep their indices and the array its
//! length.

use std::fmt;

use thiserror::Error;

use super::json_text::JsonStr;
use super::normalize::NormalizeRule;

/// An RFC 6901 JSON pointer into a request body; never the whole body.
///
/// Pointers are ordered by their tokens, so that those below one place are neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsonPointer {
    tokens: Vec<String>,
}

impl JsonPointer {
    /// Reads a pointer such as `/metadata/run_id`.
    ///
    /// # Errors
    ///
    /// [`PointerError`] if the text is no pointer, or points to the whole body.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Err(PointerError::Whole);
        }
        let Some(path) = text.strip_prefix('/') else {
            return Err(PointerError::Start { text: text.to_owned() });
        };
        let tokens = path.split('/').map(unescape).collect::<Option<_>>();
        match tokens {
            Some(tokens) => Ok(Self { tokens }),
            None => Err(PointerError::Tilde { text: text.to_owned() }),
        }
    }

    /// The keys and indices on the way, unescaped; at least one.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    fn token(&self, depth: usize) -> &str {
        self.tokens.get(depth).map_or("", String::as_str)
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for token in &self.tokens {
            push_token(&mut text, token);
        }
        f.write_str(&text)
    }
}

/// Appends `/` and a token with `~` and `/` escaped.
pub(super) fn push_token(path: &mut String, token: &str) {
    path.push('/');
    for c in token.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            _ => path.push(c),
        }
    }
}

/// A name as a token of a JSON pointer, with its leading slash.
pub fn pointer_token(name: &str) -> String {
    let mut token = String::new();
    push_token(&mut token, name);
    token
}

/// A token with `~1` and `~0` decoded; `None` if a `~` is followed by neither digit.
fn unescape(token: &str) -> Option<String> {
    let mut pieces = token.split('~');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        let (escaped, rest) = match piece.as_bytes().first()? {
            b'0' => ('~', &piece[1..]),
            b'1' => ('/', &piece[1..]),
            _ => return None,
        };
        plain.push(escaped);
        plain.push_str(rest);
    }
    Some(plain)
}

/// Why a text is not a pointer that a rule can hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PointerError {
    /// The pointer is empty.
    #[error(
        "read the JSON pointer \"\": it selects the whole body, and ignoring that would make all \
         requests the same (name a place in it, such as /metadata/run_id)"
    )]
    Whole,
    /// The pointer does not begin with a slash.
    #[error("read the JSON pointer {text:?}: it must begin with \"/\", such as /metadata/run_id")]
    Start {
        /// The text.
        text: String,
    },
    /// The text holds a `~` that is neither `~0` nor `~1`.
    #[error("read the JSON pointer {text:?}: write \"~\" in a key as ~0, and \"/\" as ~1")]
    Tilde {
        /// The text.
        text: String,
    },
}

/// The top-level members of a body that only choose the mode of delivery.
pub(super) const DELIVERY: [&str; 2] = ["stream", "stream_options"];

/// The rules that keys are made by. A recording stores the rules of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdentityRules {
    ignore: Vec<JsonPointer>,
    /// Names of further headers that keys include: in lower case, sorted, each once.
    headers: Vec<String>,
    /// Names of headers that keys leave out: in lower case, sorted, each once.
    ignore_headers: Vec<String>,
    /// What clients make anew in each run: sorted, each once. Keys do not follow these rules, only
    /// the comparison with a recorded request that is not exactly the same.
    normalize: Vec<NormalizeRule>,
}

impl IdentityRules {
    /// Rules that leave out these places, in any order, repeats allowed.
    pub fn new(mut ignore: Vec<JsonPointer>) -> Self {
        ignore.sort_unstable();
        ignore.dedup();
        Self { ignore, ..Self::default() }
    }

    /// These rules, with the places of `more` left out too.
    pub fn with(&self, more: impl IntoIterator<Item = JsonPointer>) -> Self {
        let all = Self::new(self.ignore.iter().cloned().chain(more).collect());
        Self { ignore: all.ignore, ..self.clone() }
    }

    /// These rules, with keys that also include `headers` and leave out those in `ignored`. Names
    /// are in lower case.
    pub fn with_headers(&self, headers: &[String], ignored: &[String]) -> Self {
        let all = |known: &[String], more: &[String]| {
            let mut all = [known, more].concat();
            all.sort_unstable();
            all.dedup();
            all
        };
        Self {
            ignore: self.ignore.clone(),
            headers: all(&self.headers, headers),
            ignore_headers: all(&self.ignore_headers, ignored),
            normalize: self.normalize.clone(),
        }
    }

    /// These rules, with further ones for what clients make anew.
    pub fn with_normalize(&self, more: impl IntoIterator<Item = NormalizeRule>) -> Self {
        let mut normalize: Vec<_> = self.normalize.iter().cloned().chain(more).collect();
        normalize.sort_unstable();
        normalize.dedup();
        Self { normalize, ..self.clone() }
    }

    /// These rules, without those for what clients make anew.
    pub fn without_normalize(&self) -> Self {
        Self { normalize: Vec::new(), ..self.clone() }
    }

    /// Whether keys under these rules are those under the others. Rules for what clients make anew
    /// change no key.
    pub fn makes_keys_of(&self, other: &Self) -> bool {
        self.without_normalize() == other.without_normalize()
    }

    /// The rules for what clients make anew.
    pub fn normalize(&self) -> &[NormalizeRule] {
        &self.normalize
    }

    /// The union of these rules and those of `other`.
    pub fn united(&self, other: &Self) -> Self {
        self.with(other.ignore.iter().cloned())
            .with_headers(&other.headers, &other.ignore_headers)
            .with_normalize(other.normalize.iter().cloned())
    }

    /// The further headers that keys include: in lower case, sorted.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The headers that keys leave out: in lower case, sorted.
    pub fn ignored_headers(&self) -> &[String] {
        &self.ignore_headers
    }

    /// Whether keys include a header because these rules name it.
    pub(super) fn names_header(&self, name: &str) -> bool {
        !self.headers.is_empty() && self.headers.iter().any(|known| known == name)
    }

    /// Whether these rules leave a header out of keys.
    pub(super) fn ignores_header(&self, name: &str) -> bool {
        !self.ignore_headers.is_empty() && self.ignore_headers.iter().any(|known| known == name)
    }

    /// Each rule in words, for people.
    pub fn words(&self) -> Vec<String> {
        let ignored = self.ignore.iter().map(JsonPointer::to_string);
        let without = self.ignore_headers.iter().map(|name| format!("header {name}"));
        let with = self.headers.iter().map(|name| format!("+header {name}"));
        let renamed = self.normalize.iter().map(|rule| format!("normalize {rule}"));
        ignored.chain(without).chain(with).chain(renamed).collect()
    }

    /// These rules, with the top-level members that only choose the mode of delivery (`stream`,
    /// `stream_options`) left out too. It is for comparing bodies of requests whose form leaves
    /// these out.
    pub fn with_delivery(&self) -> Self {
        let pointer = |name: &str| JsonPointer { tokens: vec![name.to_owned()] };
        self.with(DELIVERY.map(pointer))
    }

    /// The places that are left out: sorted, each once.
    pub fn ignore(&self) -> &[JsonPointer] {
        &self.ignore
    }

    /// Whether the place at `path` (keys and indices, unescaped) is left out, by a rule for it or
    /// for something around it.
    pub fn is_ignored<T: AsRef<str>>(&self, path: &[T]) -> bool {
        path.iter()
            .try_fold(self.ignored(), |at, token| at.member(JsonStr::from(token.as_ref())))
            .is_none()
    }

    /// The rules for the top of a body.
    pub(super) fn ignored(&self) -> ScopedRules<'_> {
        ScopedRules { rules: &self.ignore, depth: 0 }
    }
}

/// The rules for one place of a body and what is below it.
///
/// They are neighbours in the sorted list and share their first `depth` tokens. A step down is
/// therefore a search in a slice, and a walk over a part of a body without rules costs almost
/// nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopedRules<'r> {
    rules: &'r [JsonPointer],
    depth: usize,
}

impl<'r> ScopedRules<'r> {
    /// No rules: nothing is left out.
    pub(super) const NOTHING: ScopedRules<'static> = ScopedRules { rules: &[], depth: 0 };

    /// Whether nothing at this place or below it is left out.
    pub(super) fn is_nothing(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules for an object's member; `None` if it is left out.
    pub(super) fn member(self, key: JsonStr<'_>) -> Option<ScopedRules<'r>> {
        if self.rules.is_empty() {
            return Some(self);
        }
        let start = self.rules.partition_point(|rule| JsonStr::from(rule.token(self.depth)) < key);
        let below = self.rules.get(start..).unwrap_or_default();
        let end = below.partition_point(|rule| key == rule.token(self.depth));
        let rules = below.get(..end).unwrap_or_default();
        let depth = self.depth + 1;
        // A rule that ends here sorts before those that lead further down.
        let left_out = rules.first().is_some_and(|rule| rule.tokens.len() == depth);
        (!left_out).then_some(ScopedRules { rules, depth })
    }

    /// The rules for an array's element; `None` if it is left out.
    pub(super) fn element(self, index: usize) -> Option<ScopedRules<'r>> {
        if self.rules.is_empty() {
            return Some(self);
        }
        self.member(JsonStr::from(index.to_string().as_str()))
    }
}
