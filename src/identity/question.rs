//! The question in a request body, apart from the settings around it: whether rules and redaction
//! leave anything of it.

use super::asking_member::ASKING;
use super::json::Json;
use super::json_text::JsonStr;
use super::rules::{IdentityRules, ScopedRules};

/// Members that only name the speaker or the kind of a value.
const LABELS: [&str; 2] = ["role", "type"];

/// Members that only choose the model and the mode of delivery.
const CHOOSING: [&str; 3] = ["model", "stream", "stream_options"];

impl IdentityRules {
    /// Whether these rules leave out the whole question of a body, for example all its messages. A
    /// text for which `is_empty` is true counts as left out. Returns false for a body that has no
    /// question.
    pub fn ignore_whole_question(&self, body: &Json<'_>, is_empty: &dyn Fn(&str) -> bool) -> bool {
        let Some(members) = body.as_object() else { return false };
        let named = |key: &JsonStr<'_>, names: &[&str]| names.iter().any(|name| *key == *name);
        let asks = members.iter().any(|(key, _)| named(key, &ASKING));
        let counts =
            |key: &JsonStr<'_>| if asks { named(key, &ASKING) } else { !named(key, &CHOOSING) };
        let says = |rules: &ScopedRules<'_>, is_empty: &dyn Fn(&str) -> bool| {
            members.iter().filter(|(key, _)| counts(key)).any(|(key, value)| {
                rules.for_member(*key).is_some_and(|inner| says_something(value, &inner, is_empty))
            })
        };
        says(&ScopedRules::NOTHING, &|_| false) && !says(&self.scoped_rules(), is_empty)
    }
}

/// Whether a value holds anything that the rules do not leave out, except texts for which
/// `is_empty` is true.
fn says_something(
    value: &Json<'_>,
    rules: &ScopedRules<'_>,
    is_empty: &dyn Fn(&str) -> bool,
) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(_) | Json::Number(_) => true,
        Json::String(text) => !is_empty(&text.as_str()),
        Json::Array(items) => items.iter().enumerate().any(|(index, item)| {
            rules.for_element(index).is_some_and(|inner| says_something(item, &inner, is_empty))
        }),
        Json::Object(members) => members.iter().any(|(key, member)| {
            !LABELS.iter().any(|label| *key == *label)
                && rules
                    .for_member(*key)
                    .is_some_and(|inner| says_something(member, &inner, is_empty))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JsonPointer, parse};
    use super::*;

    fn leave_nothing(body: &str, pointers: &[&str]) -> bool {
        let pointers = pointers.iter().map(|text| JsonPointer::parse(text).unwrap());
        let body = parse(body.as_bytes()).unwrap();
        IdentityRules::new(pointers.collect()).ignore_whole_question(&body, &|text| text == "EMPTY")
    }

    #[test]
    fn nothing_is_left_when_everything_that_is_asked_is_ignored() {
        let chat =
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}"#;
        for pointers in
            [&["/messages"][..], &["/messages/0/content"], &["/messages/0/content/0/text"]]
        {
            assert!(leave_nothing(chat, pointers), "{pointers:?}");
        }
        assert!(leave_nothing(r#"{"input":"a","instructions":"b"}"#, &["/input", "/instructions"]));
        assert!(leave_nothing(r#"{"anything":{"x":1},"model":"m"}"#, &["/anything/x"]));
    }

    #[test]
    fn nothing_is_left_when_every_text_that_is_kept_is_empty() {
        let chat = r#"{"model":"m","system":"a","messages":[{"role":"EMPTY","content":"EMPTY"}]}"#;
        assert!(leave_nothing(chat, &["/system"]));
        assert!(!leave_nothing(chat, &["/messages"]));
        assert!(leave_nothing(r#"{"prompt":"EMPTY"}"#, &[]));
    }

    #[test]
    fn something_is_left_when_any_of_what_is_asked_is_kept() {
        let chat =
            r#"{"messages":[{"role":"system","content":"now"},{"role":"user","content":"a"}]}"#;
        assert!(!leave_nothing(chat, &["/messages/0/content", "/model"]));
        assert!(!leave_nothing(r#"{"input":"a","instructions":"b"}"#, &["/input"]));
        // A body without a question cannot lose it.
        for empty in ["{}", "[]", r#"{"messages":[]}"#, r#"{"model":"m"}"#] {
            assert!(!leave_nothing(empty, &["/messages", "/model"]), "{empty}");
        }
    }
}
