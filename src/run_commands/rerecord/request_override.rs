//! The `--set` flag: sets a value in a request that is sent again.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;

use loomrec_cli::exit::CommandFailure;
use loomrec_recording::Entry;

/// A place in a request, and its new value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestOverride {
    /// The flag's text, for messages.
    given: String,
    /// The tokens of a JSON pointer into the body.
    path: Vec<String>,
    value: Value,
}

/// Why an override cannot be applied to a request.
#[derive(Debug, PartialEq)]
pub(super) struct OverrideError {
    given: String,
    why: &'static str,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--set {} cannot be applied: {}", self.given, self.why)
    }
}

impl RequestOverride {
    /// Parses `NAME=VALUE` or `/POINTER=VALUE`. A value that is not valid JSON is taken as a
    /// string.
    ///
    /// # Errors
    /// A text without a place.
    pub(super) fn parse(text: &str) -> Result<Self, CommandFailure> {
        let wrong = |why: &str| {
            CommandFailure::usage(format!(
                "--set {text}: {why}; it takes NAME=VALUE (model=gpt-5-mini), or a JSON pointer \
                 into the body and its value (/temperature=0)"
            ))
        };
        let (place, value) = text.split_once('=').ok_or_else(|| wrong("there is no ="))?;
        let path = match place.strip_prefix('/') {
            Some(rest) => rest.split('/').map(unescape_token).collect::<Option<Vec<_>>>(),
            None if place.is_empty() => None,
            None => Some(vec![place.to_owned()]),
        };
        let path = path.ok_or_else(|| wrong("the part before = is not a place"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok(Self { given: text.to_owned(), path, value })
    }

    fn no_place(&self, why: &'static str) -> OverrideError {
        OverrideError { given: self.given.clone(), why }
    }

    /// Returns the new model, if this sets the model.
    fn new_model(&self) -> Option<&str> {
        let [name] = self.path.as_slice() else { return None };
        self.value.as_str().filter(|_| name == "model")
    }
}

/// Unescapes a token of a JSON pointer.
fn unescape_token(token: &str) -> Option<String> {
    let odd = token.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
    (!odd).then(|| token.replace("~1", "/").replace("~0", "~"))
}

/// Applies overrides to the request of an entry.
///
/// # Errors
/// An override that cannot be applied to it.
pub(super) fn apply_overrides(
    entry: &mut Entry,
    model: Option<&str>,
    sets: &[RequestOverride],
) -> Result<(), OverrideError> {
    let Some(first) = sets.first() else { return Ok(()) };
    let mut body: Option<Value> =
        entry.request_body().and_then(|body| serde_json::from_slice(body).ok());
    let in_body = body.as_ref().is_some_and(|body| body.get("model").is_some());
    let mut touched = false;
    for set in sets {
        if let (Some(wanted), Some(known), false) = (set.new_model(), model, in_body) {
            // Google, AWS and Azure have the model in the path.
            let path = entry.request_path().unwrap_or_default();
            let path = path_with_model(path, known, wanted).ok_or_else(|| {
                set.no_place("the request's model is neither in the body nor as such in the path")
            })?;
            entry.set_request_path(path);
            continue;
        }
        let body = body.as_mut().ok_or_else(|| first.no_place("the request's body is not JSON"))?;
        let place = find_place(body, &set.path).map_err(|why| set.no_place(why))?;
        *place = set.value.clone();
        touched = true;
    }
    if let Some(body) = body.filter(|_| touched) {
        entry.set_request_text(Bytes::from(body.to_string()));
    }
    Ok(())
}

/// The characters that are not escaped in a segment of a path.
const PLAIN: percent_encoding::AsciiSet =
    percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Returns the path with another model in it.
fn path_with_model(path: &str, known: &str, wanted: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.iter().rposition(|part| {
        let name = part.split_once(':').map_or(*part, |(name, _)| name);
        let decoded = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
        name == known || decoded == known
    })?;
    let part = parts[at];
    let rest = part.strip_prefix(known).unwrap_or_default();
    // An unescaped slash or colon would be read as another part of the path.
    let wanted = percent_encoding::utf8_percent_encode(wanted, &PLAIN).to_string() + rest;
    let mut parts: Vec<&str> = parts;
    parts[at] = &wanted;
    Some(parts.join("/"))
}

/// Returns the place that a pointer names. Its last token may name a new member or item.
fn find_place<'v>(body: &'v mut Value, path: &[String]) -> Result<&'v mut Value, &'static str> {
    const NOWHERE: &str = "its parent is neither an object nor a list";
    let Some((last, parents)) = path.split_last() else { return Ok(body) };
    let mut at = body;
    for token in parents {
        at = match at {
            Value::Object(members) => members.get_mut(token).ok_or("its parent does not exist")?,
            Value::Array(items) => find_item(items, token)?,
            _ => return Err(NOWHERE),
        };
    }
    match at {
        Value::Object(members) => Ok(members.entry(last.as_str()).or_insert(Value::Null)),
        Value::Array(items) => {
            if last == "-" {
                items.push(Value::Null);
                let end = (items.len() - 1).to_string();
                return find_item(items, &end);
            }
            find_item(items, last)
        }
        _ => Err(NOWHERE),
    }
}

/// Returns the item of a list that a pointer's token names.
fn find_item<'v>(items: &'v mut [Value], token: &str) -> Result<&'v mut Value, &'static str> {
    let canonical = token == "0" || !token.starts_with(['0', '+']);
    let number = token.parse::<usize>().ok().filter(|_| canonical);
    number.and_then(|number| items.get_mut(number)).ok_or("the list has no such item")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::RecordedRequest;

    fn changed(path: &str, body: &str, sets: &[&str]) -> Result<(String, String), OverrideError> {
        let request = RecordedRequest {
            method: "POST".into(),
            path: path.into(),
            body: Bytes::from(body.to_owned()),
            ..RecordedRequest::default()
        };
        let mut entry = Entry { request: Some(request), ..Entry::default() };
        let model = entry.recognise_call().unwrap().model;
        let sets: Vec<RequestOverride> =
            sets.iter().map(|text| RequestOverride::parse(text).unwrap()).collect();
        apply_overrides(&mut entry, model.as_deref(), &sets)?;
        let request = entry.request.unwrap();
        Ok((request.path, String::from_utf8_lossy(&request.body).into_owned()))
    }

    #[test]
    fn values_take_their_places_and_the_rest_keeps_its_order() {
        let body = r#"{"model":"a","messages":[{"content":"x","n":1.00}],"temperature":1}"#;
        let sets =
            ["model=b", "/messages/0/content=y \"z\"", "temperature=0", "/seed=7", "user=null"];
        let (_, body) = changed("/v1/chat/completions", body, &sets).unwrap();
        assert_eq!(
            body,
            r#"{"model":"b","messages":[{"content":"y \"z\"","n":1.00}],"temperature":0,"seed":7,"user":null}"#
        );
    }

    #[test]
    fn model_is_changed_in_the_path_when_it_stands_there() {
        for (path, model, expected) in [
            (
                "/v1beta/models/gemini-a:generateContent",
                "gemini-b",
                "/v1beta/models/gemini-b:generateContent",
            ),
            ("/model/us.x.y-v1%3A0/converse", "us.z-v2:0", "/model/us.z-v2%3A0/converse"),
        ] {
            let (path, body) =
                changed(path, r#"{"contents":[]}"#, &[&format!("model={model}")]).unwrap();
            assert_eq!((path.as_str(), body.as_str()), (expected, r#"{"contents":[]}"#));
        }
    }

    #[test]
    fn value_without_a_place_is_told() {
        let chat = "/v1/chat/completions";
        for (body, set) in [
            ("not json", "temperature=0"),
            ("{\"a\":[]}", "/a/0=1"),
            ("{\"a\":[1]}", "/a/00=1"),
            ("{\"a\":1}", "/a/b=1"),
            ("{}", "/a/b=1"),
        ] {
            let told = changed(chat, body, &[set]).unwrap_err().to_string();
            assert!(told.contains(set), "{told}");
        }
        for odd in ["", "model", "=1", "/a~=1", "/~2=1"] {
            assert_eq!(RequestOverride::parse(odd).unwrap_err().code, 2, "{odd}");
        }
        assert_eq!(changed(chat, "{\"a\":[1]}", &["/a/-=2"]).unwrap().1, "{\"a\":[1,2]}");
    }
}
