//! Members of complete answers that hold an address of the API itself. Clients send a request to it
//! as it is, and so around whatever is between them and the API.

use std::borrow::Cow;
use std::ops::Range;

use super::operation::{AddressMembers, Operation};
use loomrec_identity::{Json, JsonStr, parse};

/// fal's queue: the state of a request, its result, and its end before that.
const FAL: AddressMembers = &[&["status_url"], &["response_url"], &["cancel_url"]];

/// Replicate: a prediction, and the pages of a list.
const REPLICATE: AddressMembers = &[
    &["urls", "get"],
    &["urls", "cancel"],
    &["urls", "stream"],
    &["results", "*", "urls", "get"],
    &["results", "*", "urls", "cancel"],
    &["results", "*", "urls", "stream"],
    &["next"],
    &["previous"],
];

/// An address in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAddress<'a> {
    /// The member that holds it, as in `urls.get`.
    pub member: String,
    /// Where it is in the answer, between the quotes.
    pub place: Range<usize>,
    /// The address.
    pub text: Cow<'a, str>,
}

/// Returns the members of an operation's answers that hold an address of the API. Answers of an
/// unknown operation have those of the upstream of this name.
pub fn address_members(operation: Operation, upstream: &str) -> AddressMembers {
    if operation != Operation::OTHER {
        return operation.row().addresses;
    }
    match upstream {
        "fal" => FAL,
        "replicate" => REPLICATE,
        _ => &[],
    }
}

/// Finds the addresses in an answer, in the order in which they are there. Members that are absent
/// or no text, and answers that are not JSON, have none.
pub fn find_addresses<'a>(body: &'a [u8], members: AddressMembers) -> Vec<FoundAddress<'a>> {
    let Ok(root) = parse(body) else { return Vec::new() };
    let mut found = Vec::new();
    for path in members {
        collect_addresses(&root, path, &mut |text| {
            let (source, _) = text.source();
            let start = text.source_address().saturating_sub(body.as_ptr().addr());
            let place = start..start + source.len();
            found.push(FoundAddress { member: path.join("."), place, text: text.as_str() });
        });
    }
    found.sort_by_key(|address| address.place.start);
    found
}

fn collect_addresses<'a>(value: &Json<'a>, path: &[&str], found: &mut impl FnMut(JsonStr<'a>)) {
    match (path, value) {
        ([], Json::String(text)) => found(*text),
        (["*", rest @ ..], Json::Array(items)) => {
            items.iter().for_each(|item| collect_addresses(item, rest, found));
        }
        ([name, rest @ ..], Json::Object(_)) => {
            value.get(name).into_iter().for_each(|member| collect_addresses(member, rest, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(operation: Operation, upstream: &str, body: &str) -> Vec<(String, String, String)> {
        let members = address_members(operation, upstream);
        let source = |place: Range<usize>| body[place].to_owned();
        let found = find_addresses(body.as_bytes(), members).into_iter();
        found.map(|it| (it.member, source(it.place), it.text.into_owned())).collect()
    }

    #[test]
    fn addresses_are_found_where_they_are_in_the_text() {
        let body = r#"{"id": "b", "results_url" : "https:\/\/a/b\u0031", "x": "https://c"}"#;
        let expected = (
            "results_url".to_owned(),
            r"https:\/\/a/b\u0031".to_owned(),
            "https://a/b1".to_owned(),
        );
        assert_eq!(found(Operation::MESSAGE_BATCHES, "anthropic", body), [expected]);
        let list = r#"{"data":[{"results_url":null},{"results_url":"u"},{"results_url":"v"}]}"#;
        let texts: Vec<_> = found(Operation::MESSAGE_BATCHES, "anthropic", list)
            .into_iter()
            .map(|(member, _, text)| (member, text))
            .collect();
        let member = "data.*.results_url".to_owned();
        assert_eq!(texts, [(member.clone(), "u".to_owned()), (member, "v".to_owned())]);
    }

    #[test]
    fn answers_of_unknown_operations_have_the_members_of_their_upstream() {
        let body = r#"{"urls":{"get":"g","web":"w"},"next":"n","status_url":"s"}"#;
        let members = |operation, upstream| -> Vec<String> {
            found(operation, upstream, body).into_iter().map(|(member, ..)| member).collect()
        };
        assert_eq!(members(Operation::OTHER, "replicate"), ["urls.get", "next"]);
        assert_eq!(members(Operation::OTHER, "fal"), ["status_url"]);
        assert!(members(Operation::OTHER, "openai").is_empty());
        assert!(members(Operation::MESSAGES, "replicate").is_empty());
    }

    #[test]
    fn anything_but_such_a_text_is_no_address() {
        for body in ["", "[", "null", r#"{"results_url":5}"#, r#"[{"results_url":"a"}]"#] {
            assert!(found(Operation::MESSAGE_BATCHES, "anthropic", body).is_empty(), "{body}");
        }
    }
}
