//! The text of an error, in whichever of the providers' forms it comes.

use std::borrow::Cow;

use serde_json::Value;

use super::json_view::{JsonView, member_text, nested_member};
use loomrec_identity::Json;

/// How many characters of an error's text are kept.
const LONGEST: usize = 200;

/// Returns the text of an error body, on one line and of bounded length; `None` if it is empty. A body
/// without a text of a known form is itself the text.
pub fn error_text(body: &[u8]) -> Option<String> {
    let whole = || clipped_line(&String::from_utf8_lossy(body));
    Some(stated_error(body).unwrap_or_else(whole)).filter(|text| !text.is_empty())
}

/// Returns the text of an error body of a known form, as [`error_text`] does.
pub fn stated_error(body: &[u8]) -> Option<String> {
    let found = with_json(body.trim_ascii(), |json| {
        // Google's error may be in a list.
        let first = json.as_array().and_then(<[Json<'_>]>::first).unwrap_or(json);
        error_in(first).filter(|text| !text.is_empty()).or_else(|| object_text(first))
    });
    Some(clipped_line(&found.flatten()?)).filter(|text| !text.is_empty())
}

/// A text on one line, of bounded length.
pub(super) fn clipped_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{more}")
}

/// The text of the error that an object reports beside, or in the place of, an answer: in a member
/// `error`, or by naming itself an error. `None` if it reports none.
pub(super) fn error_in(json: &Json<'_>) -> Option<String> {
    let error = json.get("error").filter(|error| has_content(error));
    let names_itself = |member| member_text(json, member).as_deref() == Some("error");
    let refused = nested_member(json, &["base_resp", "status_code"])
        .is_some_and(|code| code.as_whole_number().is_some_and(|code| code != 0));
    match error {
        Some(error) => Some(said_by(error)),
        None if names_itself("object") || names_itself("type") || refused => {
            Some(object_text(json).unwrap_or_default())
        }
        None => None,
    }
}

/// Whether a member `error` says anything.
fn has_content(error: &Json<'_>) -> bool {
    match error {
        Json::Null | Json::Bool(false) => false,
        Json::Bool(true) => true,
        Json::Number(digits) => digits.parse() != Ok(0.0_f64),
        Json::String(text) => !text.as_str().is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
    }
}

/// The text of an error: a text itself, or an object that has one; empty if it has none.
fn said_by(error: &Json<'_>) -> String {
    let own = error.as_str().or_else(|| error.as_number().map(Cow::Borrowed));
    let named =
        || ["error", "type", "status", "code"].iter().find_map(|name| member_text(error, name));
    own.map(Cow::into_owned)
        .or_else(|| object_text(error))
        .or_else(|| named().map(Cow::into_owned))
        .unwrap_or_default()
}

/// Where an object that is an error has its text, the best place first.
const PLACES: [&[&str]; 7] = [
    &["message"],
    &["detail"],
    &["msg"],
    &["Message"],
    &["base_resp", "status_msg"],
    &["__type"],
    &["Output", "__type"],
];

/// Where it has a list of what is wrong.
const LISTS: [&[&str]; 3] = [&["detail"], &["message", "detail"], &["errors"]];

/// The text of an object that is an error; `None` if it has none.
pub(super) fn object_text(json: &Json<'_>) -> Option<String> {
    let at = |path: &&[&str]| nested_member(json, path)?.as_text().filter(|text| !text.is_empty());
    let first = |path: &&[&str]| {
        let item = nested_member(json, path)?.as_list()?.first()?;
        member_text(item, "msg").or_else(|| member_text(item, "message"))
    };
    PLACES.iter().find_map(at).or_else(|| LISTS.iter().find_map(first)).map(Cow::into_owned)
}

/// Reads JSON; `None` if the bytes are not JSON that can be read here. Of a member that occurs twice,
/// the last one counts.
pub(super) fn with_json<T>(bytes: &[u8], read: impl FnOnce(&Json<'_>) -> T) -> Option<T> {
    match loomrec_identity::parse(bytes) {
        Ok(json) => Some(read(&json)),
        Err(_) => {
            let value: Value = serde_json::from_slice(bytes).ok()?;
            let text = value.to_string();
            loomrec_identity::parse(text.as_bytes()).ok().map(|json| read(&json))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_error_are_found_in_every_shape() {
        for (body, said) in [
            (r#"{"error":{"message":"no\nway"}}"#, "no way"),
            (r#"[{"error":{"message":"google"}}]"#, "google"),
            (r#"{"message":"cohere"}"#, "cohere"),
            (r#"{"error":"ollama"}"#, "ollama"),
            (r#"{"detail":"a"}"#, "a"),
            (r#"{"detail":[{"loc":["body"],"msg":"missing"}]}"#, "missing"),
            (r#"{"object":"error","message":{"detail":[{"msg":"field"}]}}"#, "field"),
            (r#"{"error":{"code":1}}"#, r#"{"error":{"code":1}}"#),
            ("<html> x </html>", "<html> x </html>"),
        ] {
            assert_eq!(error_text(body.as_bytes()).as_deref(), Some(said));
        }
        assert_eq!(error_text(b"  "), None);
        let long = error_text("é".repeat(900).as_bytes()).unwrap();
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
