//! Parts of an answer that spell out its text a second time: tokens and their probabilities, words
//! and segments with their times.
//!
//! If something was removed from the text, these parts would still reveal it, in pieces and as
//! numbers. So they are emptied.

use std::ops::Range;

use super::edit::SearchMatch;
use super::json_tokens::{JsonText, JsonToken, JsonTokens};
use super::placeholder::RedactionMark;

/// Members that spell out a text wherever they occur.
const SPELLINGS: [&[u8]; 9] = [
    b"completion_probabilities",
    b"logprobs",
    b"logprobsResult",
    b"logprobs_result",
    b"output_token_ids",
    b"prompt_logprobs",
    b"prompt_token_ids",
    b"token_ids",
    b"top_logprobs",
];

/// Arrays that do so if a sibling member is the text.
const SPELLINGS_OF_TEXT: [&[u8]; 5] = [b"context", b"segments", b"tokens", b"utterances", b"words"];

/// Members that are the text of an answer.
const TEXTS: [&[u8]; 4] = [b"content", b"response", b"text", b"transcript"];

/// The arguments of a tool call. They belong to the program.
const ARGUMENTS: [&[u8]; 3] = [b"args", b"arguments", b"input"];

/// Finds the second spellings in the JSON documents at these ranges of a text. Leaves out empty
/// ones.
pub(super) fn second_spellings(text: &[u8], documents: &[Range<usize>]) -> Vec<SearchMatch> {
    let mut found = Vec::new();
    for document in documents {
        let json = &text[document.clone()];
        if !matches!(json.trim_ascii_start().first(), Some(b'{' | b'[')) {
            continue;
        }
        let mut reader = SpellingReader { json, open: Vec::new(), name: None, found: Vec::new() };
        let mut tokens = JsonTokens::new(json);
        while let Some(token) = tokens.next() {
            reader.handle_token(token, tokens.position(), tokens.depth());
        }
        reader.end_below(0, json.len());
        found.extend(reader.found.into_iter().map(|(range, empty)| {
            let place = range.start + document.start..range.end + document.start;
            SearchMatch {
                places: Vec::from([place]),
                own: false,
                mark: RedactionMark::Emptied(empty),
                encoding: None,
            }
        }));
    }
    found
}

/// The role of a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It spells out the text of the answer.
    Spelling,
    /// It does so if a sibling member is a text.
    SpellingOfText,
    Arguments,
    Other,
}

/// An object or an array that is being read.
struct SpelledContainer {
    start: usize,
    role: Role,
    is_array: bool,
    /// Whether it holds a string or a number.
    says_something: bool,
    /// Whether one of its members is the text of an answer.
    has_text: bool,
    /// Its arrays that may spell out such a text.
    waiting: Vec<Range<usize>>,
}

struct SpellingReader<'a> {
    json: &'a [u8],
    open: Vec<SpelledContainer>,
    /// The name of the member whose value comes next.
    name: Option<JsonText>,
    /// What is to be emptied, and the replacement.
    found: Vec<(Range<usize>, &'static str)>,
}

impl SpellingReader<'_> {
    /// Handles the token that ends at `end`. `depth` is the number of open containers.
    fn handle_token(&mut self, token: JsonToken, end: usize, depth: usize) {
        match token {
            JsonToken::Open => {
                // Containers that were not closed are broken. They end here.
                self.end_below(depth - 1, end - 1);
                self.begin_container(end - 1);
            }
            JsonToken::Close => self.end_container(end),
            JsonToken::Name(name) => self.name = Some(name),
            JsonToken::Value(_) => {
                let is_text = self.name.take().is_some_and(|name| self.is_one_of(&name, &TEXTS));
                if let Some(container) = self.open.last_mut() {
                    container.says_something = true;
                    container.has_text |= is_text;
                }
            }
            JsonToken::Scalar(range) => {
                self.name = None;
                let is_number =
                    self.json[range.start].is_ascii_digit() || self.json[range.start] == b'-';
                if let Some(container) = self.open.last_mut() {
                    container.says_something |= is_number;
                }
            }
        }
    }

    fn begin_container(&mut self, start: usize) {
        let is_array = self.json[start] == b'[';
        let name = self.name.take();
        let is_one_of =
            |names: &[&[u8]]| name.as_ref().is_some_and(|name| self.is_one_of(name, names));
        let is_outer = |role: Role| matches!(role, Role::Spelling | Role::Arguments);
        let outside = !self.open.iter().any(|container| is_outer(container.role));
        let role = match outside {
            false => Role::Other,
            true if is_one_of(&SPELLINGS) => Role::Spelling,
            true if is_array && is_one_of(&SPELLINGS_OF_TEXT) => Role::SpellingOfText,
            true if is_one_of(&ARGUMENTS) => Role::Arguments,
            true => Role::Other,
        };
        let waiting = Vec::new();
        self.open.push(SpelledContainer {
            start,
            role,
            is_array,
            says_something: false,
            has_text: false,
            waiting,
        });
    }

    /// Ends all containers below this depth.
    fn end_below(&mut self, depth: usize, end: usize) {
        while self.open.len() > depth {
            self.end_container(end);
        }
    }

    fn end_container(&mut self, end: usize) {
        let Some(container) = self.open.pop() else { return };
        let SpelledContainer { start, role, is_array, says_something, has_text, waiting } =
            container;
        if has_text {
            self.found.extend(waiting.into_iter().map(|range| (range, "[]")));
        }
        if role == Role::Spelling && says_something {
            self.found.push((start..end, if is_array { "[]" } else { "null" }));
        }
        let Some(outer) = self.open.last_mut() else { return };
        outer.says_something |= says_something;
        if role == Role::SpellingOfText && says_something {
            outer.waiting.push(start..end);
        }
    }

    fn is_one_of(&self, name: &JsonText, names: &[&[u8]]) -> bool {
        let name = name.decoded_bytes(self.json);
        names.iter().any(|known| *known == &*name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::merge_found;
    use super::*;

    /// Returns the JSON with its second spellings emptied.
    fn emptied(json: &str) -> String {
        let mut out = json.to_owned();
        let found = second_spellings(json.as_bytes(), std::slice::from_ref(&(0..json.len())));
        for edit in merge_found(found).into_iter().rev() {
            let Some(RedactionMark::Emptied(empty)) = edit.mark else { panic!("another mark") };
            out.replace_range(edit.range, empty);
        }
        out
    }

    #[test]
    fn logprobs_and_token_numbers_are_emptied_wherever_they_stand() {
        for (json, expected) in [
            (
                r#"{"choices":[{"logprobs":{"content":[{"token":"a","bytes":[97]}]},"x":1}]}"#,
                r#"{"choices":[{"logprobs":null,"x":1}]}"#,
            ),
            (r#"{"delta":"a", "logprobs": [ {"token":"a"} ]}"#, r#"{"delta":"a", "logprobs": []}"#),
            (
                r#"{"a":[{"token_ids":[1,2]},{"top_logprobs":[]}]}"#,
                r#"{"a":[{"token_ids":[]},{"top_logprobs":[]}]}"#,
            ),
            (r#"{"log\u0070robs":["a"]}"#, r#"{"log\u0070robs":[]}"#),
        ] {
            assert_eq!(emptied(json), expected);
            assert_eq!(emptied(expected), expected);
        }
    }

    #[test]
    fn words_and_segments_are_emptied_beside_the_text_that_they_spell() {
        let json = r#"{"words":[{"word":"a"}],"text":"a","segments":[{"text":"a","tokens":[1]}]}"#;
        assert_eq!(emptied(json), r#"{"words":[],"text":"a","segments":[]}"#);
        let json = r#"{"response":"","context":[1,2]}"#;
        assert_eq!(emptied(json), r#"{"response":"","context":[]}"#);
        for json in [
            r#"{"words":["a"],"usage":{"tokens":[1]}}"#,
            r#"{"text":"a","tokens":{"input":1}}"#,
            r#"{"input":{"text":"a","words":["a"],"logprobs":["b"]}}"#,
            r#"{"logprobs":null,"text":"logprobs"}"#,
            r#"{"logprobs":{"content":[],"refusal":null}}"#,
        ] {
            assert_eq!(emptied(json), json);
        }
    }

    #[test]
    fn cut_and_broken_json_is_emptied_as_far_as_it_goes() {
        assert_eq!(emptied(r#"{"logprobs":["a"],"b":["#), r#"{"logprobs":[],"b":["#);
        assert_eq!(emptied(r#"{"b":1,"logprobs":["a","#), r#"{"b":1,"logprobs":[]"#);
        assert_eq!(emptied(r#"{"a"}{"logprobs":["a"]}"#), r#"{"a"}{"logprobs":[]}"#);
    }
}
