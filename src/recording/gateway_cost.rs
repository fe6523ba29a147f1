//! The cost that a gateway states in the head of an answer.

use super::cost::is_possible_cost;
use super::redact::stated_media;
use loomrec_provider::Framing;

/// The header with the cost in US dollars. LiteLLM sends it, and so do gateways for LiteLLM's users.
const COST: &str = "x-litellm-response-cost";

/// Returns the cost in US dollars that the headers of an answer state. The head of a stream is sent
/// before its cost is known.
pub(super) fn gateway_cost(headers: &[(String, String)]) -> Option<f64> {
    let value = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map_or("", |(_, value)| value.trim())
    };
    if Framing::of_media(stated_media(headers)).is_some() {
        return None;
    }
    value(COST).parse().ok().filter(|cost: &f64| is_possible_cost(*cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_in_the_head_of_a_whole_answer_is_read() {
        let cost = |media: &str, value: &str| {
            let headers = [("content-type", media), (COST, value)];
            gateway_cost(&headers.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        let json = "application/json";
        assert_eq!(cost(json, "3.45e-05"), Some(3.45e-5));
        assert_eq!(cost(json, "0.0"), Some(0.0));
        for unknown in ["", "None", "nan", "inf", "-1", "1e300"] {
            assert_eq!(cost(json, unknown), None, "{unknown}");
        }
        assert_eq!(cost("text/event-stream; charset=utf-8", "0.0"), None);
    }
}
