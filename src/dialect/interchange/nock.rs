//! Recordings of nock for Node.js: a list of calls in JSON.

use std::io::Read;

use serde_json::Value;

use super::exchange::{ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, SkippedItem};
use super::read_context::{ReadContext, ReadProblem};
use super::stored_message::{header_value, stored_body, stored_headers};

/// Said of a call whose request is not in the file.
const NO_REQUEST: &str = "the file does not hold its request's body, only the answer: record the \
                          program once with `loomrec record`, or write the answers as a script \
                          (`--script`)";

/// Reads a file of calls.
pub(super) fn read(input: impl Read, finder: &mut ReadContext<'_>) -> Result<(), ReadProblem> {
    let input = std::io::BufReader::new(input);
    let Value::Array(calls) = serde_json::from_reader(input)? else {
        return Err(ReadProblem::Form("expected a list of calls".to_owned()));
    };
    for call in calls {
        let place = finder.next_place();
        let item = match read_exchange(&call, &place) {
            Ok(exchange) => FoundItem::Exchange(Box::new(exchange)),
            Err(reason) => FoundItem::Left(SkippedItem::damaged(place, reason)),
        };
        if !finder.report_item(item) {
            return Ok(());
        }
    }
    Ok(())
}

fn read_exchange(call: &Value, place: &str) -> Result<ForeignExchange, String> {
    let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
    let (scope, path, method) = (text("scope"), text("path"), text("method").to_owned());
    if scope.is_empty() || method.is_empty() {
        return Err("it has no `scope` or no `method`".to_owned());
    }
    let mut lost = Vec::new();
    let mut headers = stored_headers(call.get("reqheaders"));
    let body = stored_body(call.get("body"), false, &mut headers, &mut lost)
        .map_err(|why| format!("its request's body {why}"))?;
    if body.is_empty() && matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
        return Err(NO_REQUEST.to_owned());
    }
    let status = call.get("status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or("its status cannot be read")?;
    let named = ["rawHeaders", "headers"].iter().find_map(|name| call.get(*name));
    let mut answer_headers = stored_headers(named);
    let kind = text("contentType");
    if !kind.is_empty() && header_value(&answer_headers, "content-type").is_none() {
        answer_headers.push(("content-type".to_owned(), kind.to_owned()));
    }
    let is_binary = call.get("responseIsBinary").and_then(Value::as_bool).unwrap_or_default();
    let content = stored_body(call.get("response"), is_binary, &mut answer_headers, &mut lost)
        .map_err(|why| format!("its response's body {why}"))?;
    let url = format!("{scope}{path}");
    let request = ForeignRequest { method, url, headers, body, size: None };
    let response = ForeignResponse::from_body(status, answer_headers, content);
    Ok(ForeignExchange::without_times(place, request, response).with_lost(lost))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use serde_json::json;

    use super::super::{ForeignFormat, read as read_file};
    use super::*;
    use crate::interchange::exchange::ResponseContent;

    fn found(file: &Value) -> Vec<FoundItem> {
        let mut items = Vec::new();
        read_file(ForeignFormat::Nock, &mut file.to_string().as_bytes(), &mut |item| {
            items.push(item);
            ControlFlow::Continue(())
        })
        .unwrap();
        items
    }

    fn call(body: Value, response: Value) -> Value {
        json!({"scope": "https://api.openai.com:443", "method": "POST", "path": "/v1/x",
            "body": body, "status": 200, "response": response,
            "rawHeaders": ["Content-Type", "application/json"]})
    }

    #[test]
    fn bodies_are_read_as_values_texts_and_pieces_of_hex() {
        let mut packed = call(json!({"model": "m"}), json!(["7b", "7d"]));
        packed["rawHeaders"] = json!({"Content-Encoding": ["identity"]});
        let items = found(&json!([
            call(json!({"model": "m"}), json!({"id": 1})),
            call(json!("{}"), json!("data: x\n\n")),
            packed,
        ]));
        let told: Vec<_> = items
            .iter()
            .map(|item| match item {
                FoundItem::Exchange(exchange) => match &exchange.response.content {
                    ResponseContent::Wire(body) => (&exchange.request.body[..], &body[..]),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        let asked: &[u8] = br#"{"model":"m"}"#;
        let wanted: [(&[u8], &[u8]); 3] =
            [(asked, br#"{"id":1}"#), (b"{}", b"data: x\n\n"), (asked, b"{}")];
        assert_eq!(told, wanted);
    }

    #[test]
    fn call_without_its_request_is_left_out_with_a_hint() {
        let items = found(&json!([call(Value::Null, json!("x")), {"method": "GET"}]));
        let told = |at: usize| match &items[at] {
            FoundItem::Left(left) => left.reason.clone(),
            other => panic!("{other:?}"),
        };
        assert!(told(0).contains("loomrec record"), "{}", told(0));
        assert!(told(1).contains("no `scope`"), "{}", told(1));
    }
}
