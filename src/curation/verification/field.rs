//! Checks for unknown and duplicate fields of an entry.

use std::collections::HashSet;

use super::pointer_place::object_members;
use super::{Problem, ProblemKind, Severity};
use loomrec_identity::JsonError;
use loomrec_identity::pointer_token;
use loomrec_identity::spelling::nearest_name;
use loomrec_recording::entry::{CHAOS, KNOWN_FIELDS, USAGE_FIELDS};

/// The fields that hold a body.
const BODY: [&str; 4] = ["body", "style", "text", "base64"];
const REQUEST: [&str; 5] = ["method", "path", "query", "headers", "other_headers"];
const RESPONSE: [&str; 8] =
    ["status", "reason", "headers", "trailers", "end", "cut", "chunks", "frames"];

/// The most problems that are reported for one entry.
const MOST: usize = 200;

/// Known fields of an entry that its reader keeps among the unknown ones.
const MORE: [&str; 2] = [CHAOS, "pending"];

/// Adds the problems of the fields in an entry's text, which must be JSON.
pub(super) fn add_problems(text: &str, found: &mut Vec<Problem>) {
    let top: Vec<&str> = KNOWN_FIELDS.iter().chain(&MORE).copied().collect();
    let request: Vec<&str> = REQUEST.iter().chain(&BODY).copied().collect();
    let response: Vec<&str> = RESPONSE.iter().chain(&BODY).copied().collect();
    let Some(fields) = object_members(text) else { return };
    add_member_problems(&fields, &top, "", found);
    for (name, value) in &fields {
        let known: &[&str] = match name.as_ref() {
            "request" => &request,
            "response" => &response,
            "usage" => &USAGE_FIELDS,
            _ => continue,
        };
        if let Some(inner) = object_members(value) {
            add_member_problems(&inner, known, &pointer_token(name), found);
        }
    }
    if !found.iter().any(|problem| problem.kind == ProblemKind::Duplicate) {
        found.extend(deeper_duplicate(text));
    }
}

/// Returns a duplicate member in a nested object, such as a body.
fn deeper_duplicate(text: &str) -> Option<Problem> {
    let Err(JsonError::DuplicateKey { at }) = loomrec_identity::parse(text.as_bytes()) else {
        return None;
    };
    let line = memchr::memchr_iter(b'\n', text.as_bytes().get(..at)?).count();
    let said = "an object that ends on this line holds a field twice: only the last is read";
    let problem = Problem::of_file(ProblemKind::Duplicate, Severity::Error, said);
    Some(problem.with_place("", Some(line)).with_remedy("remove one of them"))
}

/// Adds the problems of the members of one object.
fn add_member_problems<T: AsRef<str>>(
    fields: &[(T, &str)],
    known: &[&str],
    at: &str,
    found: &mut Vec<Problem>,
) {
    let mut seen = HashSet::new();
    for (name, _) in fields {
        if found.len() >= MOST {
            return;
        }
        let name = name.as_ref();
        let pointer = format!("{at}{}", pointer_token(name));
        if !seen.insert(name) {
            let text =
                format!("the field `{}` occurs twice: only the last is read", shorten_name(name));
            let problem = Problem::of_file(ProblemKind::Duplicate, Severity::Error, text);
            found.push(problem.with_place(pointer, None).with_remedy("remove one of them"));
        } else if !known.contains(&name) {
            let hint = match nearest_name(name, known) {
                Some(meant) => format!(" (is `{meant}` meant?)"),
                None => String::new(),
            };
            let text = format!("the field `{}` is not known{hint}", shorten_name(name));
            let problem = Problem::of_file(ProblemKind::Field, Severity::Warning, text);
            let remedy = "correct its name, or remove it; it is kept as it is, and does nothing";
            found.push(problem.with_place(pointer, None).with_remedy(remedy));
        }
    }
}

/// Shortens a name, which may have any length.
fn shorten_name(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
