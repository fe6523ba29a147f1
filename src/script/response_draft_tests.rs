use super::*;
use loomrec_recording::RecordedRequest;
use loomrec_recording::entry::RecordedCut;

/// A call of Gemini's stream with this query.
fn streamed(query: &str) -> NormalizedRequest {
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: "/v1beta/models/m:streamGenerateContent".to_owned(),
        query: query.to_owned(),
        body: "{}".into(),
        ..RecordedRequest::default()
    };
    NormalizedRequest::new("gemini".to_owned(), request, &[])
}

/// Returns what a Gemini stream in these chunks becomes for a client with this query.
fn reframed(
    query: &str,
    media: &'static str,
    chunks: &[(f64, &'static str)],
    end: ResponseEnd,
) -> Result<ResponseDraft, String> {
    let headers = [
        (http::header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (CONTENT_LENGTH, HeaderValue::from(7)),
    ];
    let chunks = chunks.iter().map(|&(at_ms, data)| Chunk { at_ms, data: data.into() });
    let (headers, chunks) = (headers.into_iter().collect(), chunks.collect());
    let mut delivery = ResponseDraft {
        status: StatusCode::OK,
        reason: None,
        headers,
        chunks,
        trailers: HeaderMap::new(),
        end,
    };
    delivery.change_framing(&streamed(query)).map(|()| delivery)
}

fn sent(delivery: &ResponseDraft) -> Vec<(f64, &str)> {
    delivery
        .chunks
        .iter()
        .map(|chunk| (chunk.at_ms, std::str::from_utf8(&chunk.data).unwrap()))
        .collect()
}

const ARRAY: &str = "application/json; charset=UTF-8";
const CUT: ResponseEnd = ResponseEnd::UpstreamAbort(RecordedCut::Reset);

#[test]
fn an_array_becomes_events_at_the_times_its_elements_came() {
    let chunks =
        [(1.0, "[{\"a\":"), (2.0, " 1.50}"), (3.0, ",\r\n{\"b\":2}\n,{\"c\":3}"), (4.0, "]")];
    let delivery = reframed("alt=sse", ARRAY, &chunks, ResponseEnd::Complete).unwrap();
    let expected = [
        (2.0, "data: {\"a\":1.50}\n\n"),
        (3.0, "data: {\"b\":2}\n\n"),
        (3.0, "data: {\"c\":3}\n\n"),
    ];
    assert_eq!(sent(&delivery), expected);
    assert_eq!(delivery.headers[http::header::CONTENT_TYPE], "text/event-stream; charset=utf-8");
    assert_eq!(delivery.headers.get(CONTENT_LENGTH), None);
}

#[test]
fn events_become_an_array_at_the_times_they_ended() {
    let media = "text/event-stream";
    let chunks =
        [(1.0, "data: {\"a\":1}\r\n\r"), (2.0, "\n: wait\n\ndata: {\"b\":"), (3.0, "2}\n\n")];
    let delivery = reframed("", media, &chunks, ResponseEnd::Complete).unwrap();
    assert_eq!(sent(&delivery), [(2.0, "[{\"a\":1}"), (3.0, ",\r\n{\"b\":2}]")]);
    assert_eq!(delivery.headers[http::header::CONTENT_TYPE], ARRAY);
    let none = reframed("", media, &[(5.0, ": nothing\n\n")], ResponseEnd::Complete).unwrap();
    assert_eq!(sent(&none), [(5.0, "[]")]);
}

#[test]
fn a_cut_stream_stays_cut_when_it_is_framed_otherwise() {
    let chunks = [(1.0, "[{\"a\":1},"), (2.0, "{\"b\":")];
    let events = reframed("alt=sse", ARRAY, &chunks, CUT).unwrap();
    assert_eq!(sent(&events), [(1.0, "data: {\"a\":1}\n\n")]);
    assert_eq!(events.end, CUT);
    let media = "text/event-stream";
    let chunks = [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\"")];
    for end in [CUT, ResponseEnd::Complete] {
        let array = reframed("", media, &chunks, end).unwrap();
        assert_eq!(sent(&array), [(1.0, "[{\"a\":1}")], "{end:?}");
    }
    let array = reframed("", media, &chunks[..1], CUT).unwrap();
    assert_eq!(sent(&array), [(1.0, "[{\"a\":1}")]);
}

#[test]
fn a_compressed_stream_keeps_its_times_when_it_is_decoded() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut chunks = vec![];
    for (at_ms, text) in [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\":2}\n\n")] {
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.flush().unwrap();
        let data = std::mem::take(encoder.get_mut());
        chunks.push(Chunk { at_ms, data: data.into() });
    }
    chunks.push(Chunk { at_ms: 3.0, data: encoder.finish().unwrap().into() });
    let headers = [
        (http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (http::header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
    ];
    let headers = headers.into_iter().collect();
    let mut delivery = ResponseDraft {
        status: StatusCode::OK,
        reason: None,
        headers,
        chunks,
        trailers: HeaderMap::new(),
        end: ResponseEnd::Complete,
    };
    delivery.decode_unless_accepted(None, 1 << 20).unwrap();
    let expected = [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\":2}\n\n")];
    assert_eq!(sent(&delivery), expected);
    delivery.change_framing(&streamed("")).unwrap();
    assert_eq!(sent(&delivery), [(1.0, "[{\"a\":1}"), (2.0, ",\r\n{\"b\":2}]")]);
}

#[test]
fn an_answer_stays_as_it_is_when_it_is_framed_so_or_is_no_stream() {
    for (query, media, text) in [
        ("", ARRAY, "[{\"a\": 1}]"),
        ("alt=sse", "text/event-stream", "data: x\n\n"),
        ("alt=sse", ARRAY, "{\"candidates\": []}"),
        ("alt=sse", "text/html", "<p>"),
    ] {
        let delivery = reframed(query, media, &[(1.0, text)], ResponseEnd::Complete).unwrap();
        assert_eq!(sent(&delivery), [(1.0, text)]);
        assert!(delivery.headers.contains_key(CONTENT_LENGTH));
    }
}

#[test]
fn an_event_that_is_no_json_cannot_be_framed_otherwise() {
    let events = [(1.0, "data: {\"a\"\n\n"), (1.0, "data: {}\n\n")];
    assert!(reframed("", "text/event-stream", &events, ResponseEnd::Complete).is_err());
    let array = [(1.0, "[{\"a\":1} oops {\"b\":2}]")];
    assert!(reframed("alt=sse", ARRAY, &array, ResponseEnd::Complete).is_err());
}

fn framed(announced: usize, body: &'static str, end: ResponseEnd) -> Option<usize> {
    let headers = [(CONTENT_LENGTH, HeaderValue::from(announced))].into_iter().collect();
    let chunks = vec![Chunk { at_ms: 0.0, data: body.into() }];
    let mut delivery = ResponseDraft {
        status: StatusCode::OK,
        reason: None,
        headers,
        chunks,
        trailers: HeaderMap::new(),
        end,
    };
    delivery.correct_framing();
    delivery.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[test]
fn announced_length_is_the_real_one_when_the_body_is_whole() {
    assert_eq!(framed(3, "12345", ResponseEnd::Complete), Some(5));
}

#[test]
fn announced_length_is_never_reached_when_the_body_was_cut() {
    let cut = ResponseEnd::UpstreamAbort(RecordedCut::Close);
    assert_eq!(framed(100, "12345", cut), Some(100));
    assert_eq!(framed(5, "12345", cut), Some(6));
    assert_eq!(framed(3, "12345", cut), Some(6));
}
