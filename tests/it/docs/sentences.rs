//! Tests that the documents can be read: no sentence is too long.

use std::path::Path;

use regex::Regex;

use super::{documents, read};

/// The most words of a sentence.
const MOST_WORDS: usize = 35;

/// The paragraphs and list items of a document, without code blocks, tables and headings.
fn paragraphs(text: &str) -> Vec<String> {
    let item = Regex::new(r"^(?:[*-]|\d+\.) ").unwrap();
    let (mut found, mut fenced) = (vec![String::new()], false);
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        let begins = item.is_match(line);
        if is_fence || fenced || line.is_empty() || begins || line.starts_with(['|', '#']) {
            found.push(String::new());
        }
        if begins || !(is_fence || fenced || line.starts_with(['|', '#'])) {
            let last = found.last_mut().unwrap();
            *last = format!("{last} {}", item.replace(line, ""));
        }
    }
    found
}

/// The sentences of a paragraph. Code is one word, and a link its text. The parts of a list in
/// running text count by themselves: those between `·`, and `value`: meanings between `;`.
fn sentences(paragraph: &str) -> Vec<String> {
    let text = Regex::new("`[^`]*`").unwrap().replace_all(paragraph, "`code`").into_owned();
    let text = Regex::new(r"\]\([^)]*\)").unwrap().replace_all(&text, "]").into_owned();
    let end = Regex::new(r"[.!?][)*_]*\s+|; (?P<item>`)| · ").unwrap();
    end.replace_all(&text, "\n$item").lines().map(str::to_owned).collect()
}

#[test]
fn no_sentence_has_more_words_than_can_be_read_once() {
    let mut long = Vec::new();
    let mut seen = 0;
    for document in documents() {
        if document.parent() != Some(Path::new("docs")) && document != Path::new("README.md") {
            continue;
        }
        for paragraph in paragraphs(&read(document.to_str().unwrap())) {
            for sentence in sentences(&paragraph) {
                seen += 1;
                let words = sentence.split_whitespace().count();
                if words > MOST_WORDS {
                    long.push(format!("{}: {words} words: {sentence}", document.display()));
                }
            }
        }
    }
    assert!(seen > 1000, "only {seen} sentences were found: the search is broken");
    assert!(long.is_empty(), "{}", long.join("\n\n"));
}

#[test]
fn long_sentence_is_found_wherever_it_is() {
    let long = format!("It {}ends here.", "goes on ".repeat(20));
    let count = |text: &str| {
        let found: Vec<String> = paragraphs(text).iter().flat_map(|one| sentences(one)).collect();
        found.iter().filter(|one| one.split_whitespace().count() > MOST_WORDS).count()
    };
    for (text, expected) in [
        (long.clone(), 1),
        (format!("Short. {long} Short."), 1),
        (format!("* {long}\n* Short."), 1),
        (long.replacen("goes on goes", "goes\non goes", 1), 1),
        (format!("```sh\n{long}\n```"), 0),
        (format!("| {long} |"), 0),
        (format!("`{long}` is [code]({long})."), 0),
    ] {
        assert_eq!(count(&text), expected, "{text}");
    }
}
