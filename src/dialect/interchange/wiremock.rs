//! Stub mappings of WireMock: one, or a list of them, as it records them.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::address::NO_HOST;
use super::attached_files::AttachedFiles;
use super::companion::CompanionFiles;
use super::exchange::{ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, SkippedItem};
use super::read_context::{ReadContext, ReadProblem};
use super::stored_message::{stored_body, stored_headers};

/// Reads a file of mappings.
pub(super) fn read(
    input: impl Read,
    beside: &CompanionFiles,
    finder: &mut ReadContext<'_>,
) -> Result<(), ReadProblem> {
    let mut file: Value = serde_json::from_reader(std::io::BufReader::new(input))?;
    let mappings = match file.get_mut("mappings").map(Value::take).unwrap_or(file) {
        Value::Array(mappings) => mappings,
        one => vec![one],
    };
    for mapping in mappings {
        let place = finder.next_place();
        let item = match read_exchange(&mapping, &place, &beside.attached) {
            Ok(exchange) => FoundItem::Exchange(Box::new(exchange)),
            Err(reason) => FoundItem::Left(SkippedItem::damaged(place, reason)),
        };
        if !finder.report_item(item) {
            return Ok(());
        }
    }
    Ok(())
}

fn read_exchange(
    mapping: &Value,
    place: &str,
    attached: &AttachedFiles,
) -> Result<ForeignExchange, String> {
    let (asked, answered) = (&mapping["request"], &mapping["response"]);
    if !asked.is_object() || !answered.is_object() {
        return Err("it has no `request` or no `response`".to_owned());
    }
    let mut lost = Vec::new();
    let mut headers = Vec::new();
    for (name, pattern) in asked["headers"].as_object().into_iter().flatten() {
        if let Some(value) = exact_value(pattern) {
            headers.push((name.clone(), value));
        }
    }
    let body = asked_body(&asked["bodyPatterns"], &mut headers, &mut lost)?;
    let method = asked["method"].as_str().filter(|method| *method != "ANY");
    let method = method.unwrap_or(if body.is_empty() { "GET" } else { "POST" }).to_owned();
    let mut answer_headers = stored_headers(answered.get("headers"));
    let content = answer_body(answered, attached, &mut answer_headers, &mut lost)?;
    let status = answered["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or("its status cannot be read")?;
    let request =
        ForeignRequest { method, url: request_address(asked)?, headers, body, size: None };
    let response = ForeignResponse::from_body(status, answer_headers, content);
    Ok(ForeignExchange::without_times(place, request, response).with_lost(lost))
}

/// Returns the value that a pattern wants; `None` if several values match it.
fn exact_value(pattern: &Value) -> Option<String> {
    let wanted = pattern.get("equalTo").unwrap_or(pattern);
    wanted.as_str().map(str::to_owned)
}

/// Returns the address of a request. A mapping seldom names the host.
fn request_address(asked: &Value) -> Result<String, String> {
    let host = asked.get("host").and_then(exact_value).unwrap_or_else(|| NO_HOST.to_owned());
    let scheme = asked["scheme"].as_str().unwrap_or("https");
    let path = asked["url"].as_str().or_else(|| asked["urlPath"].as_str());
    let path = path.filter(|path| path.starts_with('/'));
    let path = path.ok_or("its address is a pattern, which matches several paths")?;
    let mut url = format!("{scheme}://{host}{path}");
    for (name, pattern) in asked["queryParameters"].as_object().into_iter().flatten() {
        let value = exact_value(pattern).ok_or("a query parameter of it is a pattern")?;
        let pair =
            url::form_urlencoded::Serializer::new(String::new()).append_pair(name, &value).finish();
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&pair);
    }
    Ok(url)
}

/// Returns the body of a request, if a pattern holds all of it.
fn asked_body(
    patterns: &Value,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, String> {
    let patterns = patterns.as_array().map(Vec::as_slice).unwrap_or_default();
    for pattern in patterns {
        if let Some(text) = pattern["equalTo"].as_str() {
            return Ok(Bytes::copy_from_slice(text.as_bytes()));
        }
        if let Some(bytes) = pattern["binaryEqualTo"].as_str() {
            let decoded = STANDARD.decode(bytes).map_err(|_| "its request's body is not base64")?;
            return Ok(decoded.into());
        }
        if let Some(json) = pattern.get("equalToJson") {
            let body = stored_body(Some(json), false, headers, lost);
            return body.map_err(|why| format!("its request's body {why}"));
        }
    }
    match patterns.is_empty() {
        true => Ok(Bytes::new()),
        false => Err("the file holds a pattern, and not its request's body".to_owned()),
    }
}

fn answer_body(
    answered: &Value,
    attached: &AttachedFiles,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, String> {
    if let Some(name) = answered["bodyFileName"].as_str() {
        let read = attached.read(name).or_else(|_| attached.read(&format!("__files/{name}")));
        let shown: String = name.chars().take(40).collect();
        return read.map_err(|why| {
            format!("its response's body is in {shown:?}: {why}; put `__files` beside the mapping")
        });
    }
    if let Some(text) = answered["base64Body"].as_str() {
        return Ok(STANDARD.decode(text).map_err(|_| "its response's body is not base64")?.into());
    }
    let body = answered.get("jsonBody").or_else(|| answered.get("body"));
    stored_body(body, false, headers, lost).map_err(|why| format!("its response's body {why}"))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use serde_json::json;

    use super::super::{ForeignFormat, read as read_file};
    use super::*;

    #[test]
    fn mappings_with_the_whole_request_become_calls_and_the_others_are_left_out() {
        let response = json!({"status": 200, "jsonBody": {"id": 1}});
        let mapping = |request: Value| json!({"request": request, "response": response});
        let file = json!({"mappings": [
            mapping(json!({"url": "/v1/x?a=b", "method": "POST", "bodyPatterns":
                [{"equalToJson": "{\"model\": \"m\"}", "ignoreArrayOrder": true}]})),
            mapping(json!({"urlPath": "/v1/x", "method": "ANY", "host": {"equalTo": "a.b"},
                "queryParameters": {"q": {"equalTo": "1 2"}},
                "bodyPatterns": [{"equalToJson": {"model": "m"}}]})),
            mapping(json!({"urlPathPattern": "/v1/.*", "method": "GET"})),
            mapping(json!({"url": "/v1/x", "method": "POST",
                "bodyPatterns": [{"matchesJsonPath": "$.model"}]})),
        ]});
        let mut told = Vec::new();
        let text = file.to_string();
        read_file(ForeignFormat::WireMock, &mut text.as_bytes(), &mut |item| {
            told.push(match item {
                FoundItem::Exchange(exchange) => {
                    let ForeignRequest { url, body, .. } = exchange.request;
                    format!("{url} {}", String::from_utf8_lossy(&body))
                }
                FoundItem::Left(left) => left.reason,
                other => panic!("{other:?}"),
            });
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(told[0], format!("https://{NO_HOST}/v1/x?a=b {{\"model\": \"m\"}}"));
        assert_eq!(told[1], "https://a.b/v1/x?q=1+2 {\"model\":\"m\"}");
        assert!(told[2].contains("pattern") && told[3].contains("pattern"), "{told:?}");
    }
}
