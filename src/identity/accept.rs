//! The format of the answer that a request selects by `accept`.
//!
//! `*/*`, and a list of media types, leave the choice to the API: they select nothing.

use super::request_parts::{KeyForm, RequestParts};

/// Bedrock's header for the format of a streamed answer. For a complete answer that is `accept`.
pub(super) const BEDROCK_ACCEPT: &str = "x-amzn-bedrock-accept";

/// Media types that request a stream, or a complete answer, of an operation that has both.
const MODES: [&str; 6] = [
    "application/json",
    "application/jsonl",
    "application/ndjson",
    "application/vnd.amazon.eventstream",
    "application/x-ndjson",
    "text/event-stream",
];

/// The format that a request to Bedrock's InvokeModel, or for speech, selects. `None` for any other
/// operation, and for the default.
pub(super) fn chosen_format(parts: &RequestParts<'_>) -> Option<String> {
    let KeyForm::Tagged { target, .. } = parts.form else { return None };
    let bedrock = target.starts_with("/model/") && target.ends_with("/invoke");
    if !bedrock && !target.ends_with("/audio/speech") {
        return None;
    }
    let own = parts.header_values(BEDROCK_ACCEPT).next().filter(|_| bedrock);
    let form = own.or_else(|| parts.header_values("accept").next())?.trim().to_ascii_lowercase();
    // The default, and media types that request a stream: those only choose the mode of delivery.
    let usual = match form.as_str() {
        "" | "*/*" => true,
        "application/json" | "application/vnd.amazon.eventstream" | "text/event-stream" => bedrock,
        _ => false,
    };
    (!usual).then_some(form)
}

/// The media type that a request accepts, if it accepts a single one and the operation does not
/// answer in that format anyway. It is in lower case, with its parameters but for the weight.
pub(super) fn only_type(parts: &RequestParts<'_>) -> Option<String> {
    let mut types =
        parts.header_values("accept").flat_map(|value| value.split(',')).map(without_weight);
    let first = types.find(|media| !media.is_empty())?;
    let media = first.split(';').next().unwrap_or_default();
    let is_type = media.split_once('/').is_some_and(|(kind, _)| kind != "*");
    let is_alone = types.all(|other| other.is_empty() || other == first);
    let is_usual = match parts.form {
        KeyForm::Chat | KeyForm::Tagged { delivery: true, .. } => MODES.contains(&media),
        KeyForm::Tagged { known, .. } => known && media == MODES[0],
        KeyForm::Reduced { .. } => false,
    };
    (is_type && is_alone && !is_usual).then_some(first)
}

/// A media range in lower case, without white space and weight.
fn without_weight(range: &str) -> String {
    let lower = range.to_ascii_lowercase();
    let mut parts = lower.split(';').map(|part| part.split_ascii_whitespace().collect::<String>());
    let media = parts.next().unwrap_or_default();
    let kept = parts.filter(|part| !part.is_empty() && !part.starts_with("q="));
    kept.fold(media, |media, part| media + ";" + &part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(form: KeyForm<'_>, values: &[&str]) -> Option<String> {
        let headers: Vec<(String, String)> =
            values.iter().map(|value| ("accept".to_owned(), (*value).to_owned())).collect();
        let parts = RequestParts { form, method: "GET", query: "", headers: &headers, body: b"" };
        only_type(&parts)
    }

    const OTHER: KeyForm<'_> = KeyForm::Tagged { target: "/runs", delivery: false, known: false };
    const KNOWN: KeyForm<'_> =
        KeyForm::Tagged { target: "/embeddings", delivery: false, known: true };

    #[test]
    fn single_media_type_selects_a_format_and_a_list_does_not() {
        for (values, format) in [
            (&["text/csv"][..], Some("text/csv")),
            (&["Application/JSON ; charset=UTF-8;q=0.5"], Some("application/json;charset=utf-8")),
            (&["application/json"], Some("application/json")),
            (&["text/csv, TEXT/CSV", "text/csv"], Some("text/csv")),
            (&["audio/*"], Some("audio/*")),
            (&["*/*"], None),
            (&[""], None),
            (&["x"], None),
            (&[], None),
            (&["application/json, text/plain, */*"], None),
            (&["application/json", "text/event-stream"], None),
        ] {
            assert_eq!(selected(OTHER, values).as_deref(), format, "{values:?}");
        }
    }

    #[test]
    fn format_in_which_a_known_operation_answers_anyway_is_not_selected() {
        assert_eq!(selected(KNOWN, &["application/json"]), None);
        assert_eq!(selected(KNOWN, &["application/json; charset=utf-8"]), None);
        assert_eq!(selected(KNOWN, &["text/event-stream"]).as_deref(), Some("text/event-stream"));
        let stream = KeyForm::Tagged { target: "t", delivery: true, known: true };
        for form in [KeyForm::Chat, stream] {
            for media in MODES {
                assert_eq!(selected(form, &[media]), None, "{media}");
            }
            assert_eq!(selected(form, &["text/csv"]).as_deref(), Some("text/csv"));
        }
    }
}
