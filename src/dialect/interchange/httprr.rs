//! Recordings of Go's `httprr`: requests and responses as they went over the wire.

use std::io::{BufRead, BufReader, Read};

use bytes::Bytes;

use super::bounded::LIMIT;
use super::exchange::{ForeignExchange, ForeignRequest, ForeignResponse, FoundItem, SkippedItem};
use super::format::HTTPRR_MARK;
use super::read_context::{ReadContext, ReadProblem};

/// The longest line with two lengths.
const LINE_LIMIT: u64 = 64;

/// Reads a file of exchanges.
pub(super) fn read(input: impl Read, finder: &mut ReadContext<'_>) -> Result<(), ReadProblem> {
    let mut input = BufReader::new(input);
    if read_line(&mut input)?.as_deref() != Some(HTTPRR_MARK) {
        return Err(ReadProblem::Form(format!("its first line is not {HTTPRR_MARK:?}")));
    }
    while let Some(lengths) = read_line(&mut input)? {
        let wrong = || ReadProblem::Form("expected a line with two lengths".to_owned());
        let (request, response) = lengths.split_once(' ').ok_or_else(wrong)?;
        let length = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let (request, response) = (length(request)?, length(response)?);
        let (request, response) =
            (read_bytes(&mut input, request)?, read_bytes(&mut input, response)?);
        let place = finder.next_place();
        let item = match read_exchange(&place, &request, &response) {
            Ok(exchange) => FoundItem::Exchange(Box::new(exchange)),
            Err(reason) => FoundItem::Left(SkippedItem::damaged(place, reason)),
        };
        if !finder.report_item(item) {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the next line without its end; `None` at the end of the file.
fn read_line(input: &mut impl BufRead) -> Result<Option<String>, ReadProblem> {
    let mut line = Vec::new();
    input.take(LINE_LIMIT).read_until(b'\n', &mut line).map_err(ReadProblem::Io)?;
    let text = String::from_utf8_lossy(&line).trim_end().to_owned();
    Ok(Some(text).filter(|_| !line.is_empty()))
}

/// Returns the next `length` bytes.
fn read_bytes(input: &mut impl Read, length: u64) -> Result<Bytes, ReadProblem> {
    if length > LIMIT {
        return Err(ReadProblem::TooLarge);
    }
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes).map_err(ReadProblem::Io)?;
    if bytes.len() as u64 != length {
        return Err(ReadProblem::Form("it is cut: a message is not complete".to_owned()));
    }
    Ok(bytes.into())
}

/// A message of HTTP/1.
struct WireMessage {
    first_line: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl WireMessage {
    /// Splits a message. Lines may end in `\n` alone.
    fn parse(bytes: &Bytes) -> Option<Self> {
        let (mut lines, mut at) = (Vec::new(), 0);
        loop {
            let end = at + bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
            let line = String::from_utf8_lossy(&bytes[at..end]).trim_end().to_owned();
            at = end + 1;
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let mut lines = lines.into_iter();
        let first_line = lines.next()?;
        let header = |line: String| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        let mut headers = lines.map(header).collect::<Option<Vec<_>>>()?;
        let is_chunked = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked")
        };
        let mut body = bytes.slice(at..);
        if headers.iter().any(is_chunked) {
            body = without_chunks(&body)?;
            headers.retain(|header| !is_chunked(header));
        }
        Some(Self { first_line, headers, body })
    }

    fn header_value(&self, wanted: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }
}

/// Returns the bytes of a body in chunks; `None` if it is cut.
fn without_chunks(body: &[u8]) -> Option<Bytes> {
    let (mut rest, mut whole) = (body, Vec::new());
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let length = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 1..];
        if length == 0 {
            return Some(whole.into());
        }
        whole.extend_from_slice(rest.get(..length)?);
        rest = &rest[length..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        rest = &rest[end + 1..];
    }
}

fn read_exchange(
    place: &str,
    request: &Bytes,
    response: &Bytes,
) -> Result<ForeignExchange, String> {
    let parse = |bytes, whose: &str| {
        WireMessage::parse(bytes).ok_or_else(|| format!("its {whose} is not a message of HTTP"))
    };
    let (asked, answered) = (parse(request, "request")?, parse(response, "response")?);
    let mut words = asked.first_line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let url = match target.starts_with('/') {
        true => format!("https://{}{target}", asked.header_value("host").unwrap_or_default()),
        false => target.to_owned(),
    };
    let status = answered.first_line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or("its status cannot be read")?;
    let reason = answered.first_line.splitn(3, ' ').nth(2).map(str::to_owned);
    let request =
        ForeignRequest { method, url, headers: asked.headers, body: asked.body, size: None };
    let mut response = ForeignResponse::from_body(status, answered.headers, answered.body);
    response.reason = reason;
    Ok(ForeignExchange::without_times(place, request, response))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::{ForeignFormat, read as read_file};
    use super::*;
    use crate::interchange::exchange::ResponseContent;

    fn found(text: &str) -> (Vec<FoundItem>, Result<(), String>) {
        let mut items = Vec::new();
        let done = read_file(ForeignFormat::HttpRr, &mut text.as_bytes(), &mut |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
        (items, done.map_err(|error| error.to_string()))
    }

    fn file(request: &str, response: &str) -> String {
        format!("{HTTPRR_MARK}\n{} {}\n{request}{response}", request.len(), response.len())
    }

    #[test]
    fn messages_are_read_whatever_their_line_ends() {
        for end in ["\n", "\r\n"] {
            let request = format!("POST /v1/x HTTP/1.1{end}Host: a.b{end}{end}{{}}");
            let chunked = format!("2{end}he{end}3{end}llo{end}0{end}{end}");
            let head = format!("HTTP/1.1 201 Created{end}Transfer-Encoding: chunked{end}{end}");
            let (items, done) = found(&file(&request, &format!("{head}{chunked}")));
            done.unwrap();
            let [FoundItem::Exchange(exchange)] = items.as_slice() else { panic!("{items:?}") };
            assert_eq!(exchange.request.url, "https://a.b/v1/x");
            assert_eq!(exchange.request.body, "{}");
            assert_eq!(exchange.response.status, 201);
            assert_eq!(exchange.response.content, ResponseContent::Wire("hello".into()));
        }
    }

    #[test]
    fn file_that_is_cut_or_no_trace_is_refused() {
        let whole = file("GET http://a/b HTTP/1.1\n\n", "HTTP/1.1 200 OK\n\nabc");
        assert!(found(&whole).1.is_ok());
        assert!(found(&whole[..whole.len() - 1]).1.unwrap_err().contains("it is cut"));
        assert!(found("httprr trace v2\n").1.unwrap_err().contains("first line"));
        assert!(found(&format!("{HTTPRR_MARK}\n1 x\n")).1.unwrap_err().contains("two lengths"));
        let large = format!("{HTTPRR_MARK}\n1 99999999999\na");
        assert!(found(&large).1.unwrap_err().contains("128 MiB"));
        let (items, _) = found(&file("nothing", "HTTP/1.1 200 OK\n\nabc"));
        assert!(matches!(&items[..], [FoundItem::Left(left)] if left.reason.contains("request")));
    }
}
