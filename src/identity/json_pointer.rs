//! JSON pointers (RFC 6901) into request bodies.

use std::fmt;

use thiserror::Error;

/// An RFC 6901 JSON pointer into a request body; never the whole body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        let tokens = path.split('/').map(unescape_token).collect::<Option<_>>();
        match tokens {
            Some(tokens) => Ok(Self { tokens }),
            None => Err(PointerError::Tilde { text: text.to_owned() }),
        }
    }

    /// The keys and indices on the way, unescaped; at least one.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
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
fn unescape_token(token: &str) -> Option<String> {
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
    /// The pattern is `/*`.
    #[error(
        "read the JSON pointer \"/*\": it selects every member of the body, and ignoring that would \
         make all requests the same (name a place, such as /metadata/*)"
    )]
    EveryMember,
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
