//! The likeness of two requests, as a person sees it: how much of their texts they share.
//!
//! It explains a miss, and proposes which take a new answer replaces. It never decides whether two
//! requests are the same: only their keys do.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::json::Json;

/// Members whose values say nothing of what a request is about.
const FORMAL: [&str; 6] = ["model", "role", "type", "id", "tool_call_id", "call_id"];

/// How many bytes of text are looked at.
const MEASURED: usize = 64 << 10;

/// From here on are the scripts that are written without blanks. There each letter counts as a
/// word.
const WITHOUT_BLANKS: char = '\u{e00}';

/// The words of a request, and its texts: the strings in its body, except for formal ones.
#[derive(Debug, Default)]
pub struct RequestWords {
    /// How often each word is there, by its hash.
    words: HashMap<u64, usize>,
    /// How many words each text has in all its places, by its hash.
    texts: HashMap<u64, usize>,
    count: usize,
    bytes: usize,
}

impl RequestWords {
    /// Returns the words of a body. Only the first 64 KiB of its texts count.
    pub fn from_body(body: &Json<'_>) -> Self {
        let mut words = Self::default();
        words.add_value(body);
        words
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a person would say that one request has become the other: at least half of the words
    /// of the longer one are in the other, or the texts that both have unchanged are at least half
    /// of the shorter one.
    pub fn is_alike(&self, other: &Self) -> bool {
        let shared = |one: &HashMap<u64, usize>, other: &HashMap<u64, usize>| -> usize {
            let of_other = |word: &u64| other.get(word).copied().unwrap_or(0);
            one.iter().map(|(word, count)| of_other(word).min(*count)).sum()
        };
        let (shorter, longer) = (self.count.min(other.count), self.count.max(other.count));
        shorter > 0
            && (shared(&self.words, &other.words) * 2 >= longer
                || shared(&self.texts, &other.texts) * 2 >= shorter)
    }

    fn add_value(&mut self, value: &Json<'_>) {
        match value {
            Json::String(text) => self.add_text(&text.as_str()),
            Json::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Json::Object(members) => {
                let telling = |name: &str| !FORMAL.contains(&name);
                let members = members.iter().filter(|(name, _)| telling(&name.as_str()));
                members.for_each(|(_, value)| self.add_value(value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        let mut end = text.len().min(MEASURED.saturating_sub(self.bytes));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (text, before) = (&text[..end], self.count);
        self.bytes += text.len();
        let mut word = String::new();
        for letter in text.chars() {
            let is_whole = letter >= WITHOUT_BLANKS || !letter.is_alphanumeric();
            if is_whole {
                self.add_word(&word);
                word.clear();
            }
            if letter.is_alphanumeric() {
                word.extend(letter.to_lowercase());
            }
        }
        self.add_word(&word);
        let added = self.count - before;
        if added > 0 {
            *self.texts.entry(stable_hash(text)).or_default() += added;
        }
    }

    fn add_word(&mut self, word: &str) {
        if !word.is_empty() {
            *self.words.entry(stable_hash(word)).or_default() += 1;
            self.count += 1;
        }
    }
}

/// Returns a hash that is the same in every run.
fn stable_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader;

    fn words(body: &str) -> RequestWords {
        RequestWords::from_body(&reader::parse(body.as_bytes()).unwrap())
    }

    fn chat(model: &str, texts: &[&str]) -> String {
        let message = |text: &&str| format!(r#"{{"role":"user","content":"{text}"}}"#);
        let messages: Vec<String> = texts.iter().map(message).collect();
        format!(r#"{{"model":"{model}","messages":[{}]}}"#, messages.join(","))
    }

    #[track_caller]
    fn alike(one: &[&str], other: &[&str], expected: bool) {
        let (one, other) = (words(&chat("m", one)), words(&chat("n", other)));
        assert_eq!(one.is_alike(&other), expected);
        assert_eq!(other.is_alike(&one), expected);
    }

    #[test]
    fn request_is_alike_when_half_of_the_words_are_shared() {
        alike(&["weather in Paris"], &["weather in Oslo"], true);
        alike(&["Say hi"], &["say hello!"], true);
        alike(&["hi"], &["zzz"], false);
        alike(&["hi"], &["Write a poem, and say hi"], false);
        alike(&["What is the weather in Paris?"], &["Is the door in the kitchen open?"], false);
        alike(&["巴黎的天气"], &["奥斯陆的天气"], true);
        alike(&["巴黎的天气"], &["写一首诗"], false);
    }

    #[test]
    fn request_is_alike_when_its_conversation_goes_on() {
        let system = "You are an agent that answers with one short sentence.";
        let more = ["Translate it", "Here is all of it, in many other words than before, I hope"];
        alike(&[system, "hi"], &[&[system, "hi"], &more[..], &more[..]].concat(), true);
        alike(&["Be brief.", "What time is it now?"], &["Be brief.", "Write a long poem."], false);
    }

    #[test]
    fn formal_values_and_numbers_do_not_count() {
        assert!(words(r#"{"model":"m","input":[1,2],"tools":[{"type":"a","id":"b"}]}"#).is_empty());
        let (none, some) = (words(r#"{"model":"m"}"#), words(&chat("m", &["hi"])));
        assert!(!none.is_alike(&some) && !some.is_alike(&none));
    }

    #[test]
    fn only_the_beginning_of_long_texts_counts() {
        let long = |end: &str| chat("m", &["e ".repeat(MEASURED).as_str(), end]);
        let (one, other) = (words(&long("a")), words(&long("b")));
        assert_eq!((one.count, one.bytes), (other.count, MEASURED));
        assert!(one.is_alike(&other));
    }
}
