use std::ops::ControlFlow;

use super::super::super::exchange::{
    ForeignExchange, ForeignRequest, ForeignResponse, ResponseContent, SkippedItem,
};
use super::super::super::value_body::{OTHER_LENGTH, REBUILT};
use super::super::super::{ForeignFormat, FoundItem, ReadError, SkipCause, read};
use loomrec_recording::ResponseEnd;

fn found(format: ForeignFormat, text: &[u8]) -> (Vec<FoundItem>, Result<(), ReadError>) {
    let mut items = Vec::new();
    let done = read(format, &mut &*text, &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    (items, done)
}

fn problem(text: &str) -> String {
    found(ForeignFormat::Vcr, text.as_bytes()).1.unwrap_err().to_string()
}

const ONE: &str = "- request: {method: POST, uri: 'http://a/b', headers: {A: [x]}, body: 'q'}
  response: {status: {code: 200, message: OK}, headers: {B: [y, z]}, body: {string: 'r'}}
";

fn exchange(place: &str) -> ForeignExchange {
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    ForeignExchange {
        place: place.to_owned(),
        request: ForeignRequest {
            method: "POST".to_owned(),
            url: "http://a/b".to_owned(),
            headers: vec![pair("A", "x")],
            body: "q".into(),
            size: None,
        },
        response: ForeignResponse {
            status: 200,
            reason: Some("OK".to_owned()),
            headers: vec![pair("B", "y"), pair("B", "z")],
            content: ResponseContent::Wire("r".into()),
            size: None,
            end: ResponseEnd::Complete,
        },
        started: None,
        first_ms: None,
        duration_ms: None,
        own: None,
        messages: Vec::new(),
        lost: Vec::new(),
    }
}

#[test]
fn interactions_are_found_in_order_in_yaml_and_in_json() {
    let text = format!("interactions:\n{ONE}{ONE}version: 1\n");
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let both = [exchange("interaction 1"), exchange("interaction 2")];
    let both = both.map(|exchange| FoundItem::Exchange(Box::new(exchange)));
    assert_eq!(items, both);
    let json = r#"{"version": 1, "interactions": [{"request": {"method": "POST",
        "uri": "http://a/b", "headers": {"A": ["x"]}, "body": "q", "later": [1]}, "response":
        {"status": {"code": 200, "message": "OK"}, "headers": {"B": ["y", "z"]}, "body": {"string": "r"}}}]}"#;
    let (items, done) = found(ForeignFormat::VcrJson, json.as_bytes());
    done.unwrap();
    assert_eq!(items, both[..1]);
}

#[test]
fn older_httpx_cassettes_and_those_of_ruby_are_understood() {
    let text = "interactions:
- request: {method: POST, uri: 'http://a/b', headers: {A: [x]}, body: 'q'}
  response: {status_code: 200, http_version: HTTP/1.1, headers: {B: [y, z]}, content: r}
version: 1
";
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let mut expected = exchange("interaction 1");
    expected.response.reason = None;
    assert_eq!(items, [FoundItem::Exchange(Box::new(expected))]);
    let text = "---
http_interactions:
- request:
    method: post
    uri: http://a/b
    body: {encoding: UTF-8, string: q}
    headers: {A: [x]}
  response:
    status: {code: 200, message: OK}
    headers: {B: [y, z]}
    body: {encoding: UTF-8, base64_string: cg==}
  recorded_at: Tue, 01 Nov 2011 04:58:44 GMT
recorded_with: VCR 6.0.0
";
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let mut expected = exchange("interaction 1");
    expected.request.method = "post".to_owned();
    expected.started = Some("Tue, 01 Nov 2011 04:58:44 GMT".to_owned());
    assert_eq!(items, [FoundItem::Exchange(Box::new(expected))]);
}

#[test]
fn what_is_no_exchange_is_left_out_by_its_place() {
    let text = "interactions:
- request: {method: GET, uri: 'http://a/b', body: !!python/object:io.BytesIO {}}
  response: {status: {code: 200}, headers: {}, body: {string: ''}}
- request: {method: GET, uri: 'http://a/b'}
version: 1
";
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|item| match item {
            FoundItem::Left(left) => format!("{}: {}", left.place, left.reason),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "interaction 1: its request's body is an object of a type that only its program knows",
            "interaction 2: it holds no response",
        ]
    );
    let (items, done) = found(ForeignFormat::Vcr, b"interactions: []\nversion: 1\n");
    done.unwrap();
    assert_eq!(items, []);
}

#[test]
fn bad_cassette_is_told_by_what_is_wrong_and_where() {
    let cut = problem(&format!("interactions:\n{ONE}- request: {{method: 'G"));
    assert!(cut.contains("after interaction 1: ") && cut.contains("line 4"), "{cut}");
    let half = problem(&format!("interactions:\n{ONE}"));
    assert!(half.contains("after interaction 1: it may be cut"), "{half}");
    let none = problem("version: 1\n");
    assert!(none.contains("missing field `interactions`"), "{none}");
    let version = problem("interactions: []\nversion: 7\n");
    assert!(version.contains("`version` is 1"), "{version}");
    let wrong = problem("interactions: sk-secret-word\n");
    assert!(wrong.contains("expected a list") && !wrong.contains("secret"), "{wrong}");
    let second = problem(&format!("interactions:\n{ONE}version: 1\n---\ninteractions:\n{ONE}"));
    assert!(second.contains("a second document"), "{second}");
    let map = problem("interactions:\n  abc:\n  - token: 1\n");
    assert!(map.contains("no HTTP calls"), "{map}");
    assert!(found(ForeignFormat::VcrJson, b"{\"interactions\": []} x").1.is_err());
    assert!(found(ForeignFormat::VcrJson, b"").1.is_err());
    assert!(found(ForeignFormat::Vcr, b"\x00\x00\x00").1.is_err());
}

#[test]
fn deep_nesting_and_aliases_that_multiply_are_refused_or_passed_over() {
    let deep = format!("interactions: {}", "[".repeat(100_000));
    assert!(found(ForeignFormat::Vcr, deep.as_bytes()).1.is_err());
    assert!(found(ForeignFormat::VcrJson, format!("{{\"a\": {deep}").as_bytes()).1.is_err());
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = level - 1;
        let list = vec![format!("*a{below}"); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    bomb.push_str("interactions: []\n");
    let told = problem(&bomb);
    assert!(told.len() < 600, "{told}");
    // One large text repeated many times, in one interaction or in many.
    let large = format!("x: &x {}\ninteractions:\n", "y".repeat(1 << 20));
    let times = |count: usize| vec!["*x"; count].join(", ");
    let one = format!("{large}- request: {{uri: a, body: [{}]}}\n", times(129));
    assert!(problem(&one).contains("its aliases multiply"));
    let request = format!("- request: {{uri: a, body: [{}]}}\n", times(100));
    let (items, done) =
        found(ForeignFormat::Vcr, format!("{large}{}", request.repeat(6)).as_bytes());
    assert!(done.unwrap_err().to_string().contains("its aliases multiply") && items.len() == 5);
    let deep = (1..40)
        .fold(format!("x0: &x0 {}1{}\n", "[".repeat(20), "]".repeat(20)), |text, n| {
            format!("{text}x{n}: &x{n} {}*x{}{}\n", "[".repeat(20), n - 1, "]".repeat(20))
        });
    assert!(problem(&deep).contains("nested too deeply"));
    let itself = problem("x: &x [*x]\ninteractions: []\n");
    assert!(itself.contains("inside the value that it repeats at line 1"), "{itself}");
    let heavy = format!(
        "x: &x [{}]\ninteractions:\n- request: {{method: GET, uri: a, headers: {{{}}}}}\n",
        "y".repeat(100_000),
        (0..100).map(|n| format!("h{n}: *x")).collect::<Vec<_>>().join(", ")
    );
    let told = problem(&heavy);
    assert!(told.contains("1 MiB"), "{told}");
}

#[test]
fn reading_ends_when_no_more_is_wanted() {
    let text = format!("interactions:\n{ONE}{ONE}{ONE}not yaml: [");
    let mut count = 0;
    let done = read(ForeignFormat::Vcr, &mut text.as_bytes(), &mut |_| {
        count += 1;
        ControlFlow::Break(())
    });
    assert!(done.is_ok() && count == 1);
}

#[test]
fn bodies_that_are_values_are_written_again_as_long_as_they_were() {
    let text = "interactions:
- request:
    method: POST
    uri: http://a/b
    headers: {content-type: [application/json], content-length: ['15']}
    body: null
    parsed_body: {b: [1, 1.5]}
  response:
    status: 200
    headers: {content-type: [application/json], content-length: ['900'], content-encoding: [gzip]}
    parsed_body: {id: '2020-01-01', text: 'yes', none: null}
- request: {method: POST, uri: 'http://a/b', body: {type: json, content: {a: 1}}}
  response: {status: {code: 200}, body: {type: text, content: 'data: x'}}
version: 1
";
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|item| match item {
            FoundItem::Exchange(exchange) => {
                let ResponseContent::Wire(answer) = &exchange.response.content else {
                    panic!("{item:?}")
                };
                let asked = std::str::from_utf8(&exchange.request.body).unwrap();
                (asked, std::str::from_utf8(answer).unwrap(), exchange.response.status)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let answer = r#"{"id":"2020-01-01","text":"yes","none":null}"#;
    assert_eq!(told[0], (r#"{"b": [1, 1.5]}"#, answer, 200));
    assert_eq!(told[1], (r#"{"a":1}"#, "data: x", 200));
    let FoundItem::Exchange(first) = &items[0] else { panic!("it is an exchange") };
    assert_eq!(first.lost, [REBUILT, OTHER_LENGTH]);
    let headers: Vec<_> = first.response.headers.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(headers, ["application/json", &answer.len().to_string()]);
    let FoundItem::Exchange(second) = &items[1] else { panic!("it is an exchange") };
    assert_eq!(second.lost, [REBUILT]);
}

#[test]
fn body_that_cannot_be_understood_is_left_out_by_its_place() {
    let text = "interactions:
- request: {method: POST, uri: 'http://a/b', parsed_body: {a: .inf}}
  response: {status: {code: 200}}
- request: {method: POST, uri: 'http://a/b', body: 'x', parsed_body: {a: 1}}
  response: {status: {code: 200}}
- request: {method: POST, uri: 'http://a/b', body: null}
  response: {status: {code: 200}, body: {type: binary, content: 'ff'}}
version: 1
";
    let (items, done) = found(ForeignFormat::Vcr, text.as_bytes());
    done.unwrap();
    let told: Vec<_> = items
        .into_iter()
        .map(|item| match item {
            FoundItem::Left(SkippedItem { place, reason, cause: SkipCause::Damaged }) => {
                (place, reason)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told[0].0, "interaction 1");
    assert!(told[0].1.contains("a number that JSON cannot represent"), "{told:?}");
    assert!(told[1].1.contains("twice"), "{told:?}");
    assert!(told[2].1.contains("its response's body is an object"), "{told:?}");
}
