//! Tests of addresses of the API in its answers: the client gets loomrec's own, in record and in
//! replay, and the recording keeps the API's.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::support::{Answer, Call, Received, Scene, Server, Upstream};

const BATCH: &str = "/anthropic/v1/messages/batches/b1";
const RESULTS: &str = "/v1/messages/batches/b1/results?page=1";

/// An answer about a batch, in a style that no writer has, with the address of its results.
fn batch(address: &str) -> String {
    format!(
        "{{ \"id\":\"b1\",\n\"results_url\" :\"{address}\",\"processing_status\":\"ended\" }}\n"
    )
}

fn call(path: &str) -> Call {
    Call::get(path).header("anthropic-version: 2023-06-01")
}

/// An upstream with a batch, whose answer says that its results are below `origin`, or else below
/// the upstream's own address.
fn batches(origin: Option<&'static str>) -> Upstream {
    Upstream::start(move |request: &Received| match request.target.as_str() {
        "/v1/messages/batches/b1" => {
            let own = format!("http://{}", request.header("host").unwrap());
            Answer::json(200, batch(&format!("{}{RESULTS}", origin.unwrap_or(&own))))
        }
        RESULTS => {
            Answer::whole(200, &["content-type: application/x-jsonl"], "{\"custom_id\":\"a\"}\n")
        }
        other => Answer::json(404, format!("{{\"error\":\"no {other}\"}}")),
    })
}

fn record(scene: &Scene, name: &str, upstream: &Upstream, more: &[&str]) -> Server {
    let upstream = format!("--upstream={name}={}", upstream.url());
    let recording = scene.recording();
    let mut args = vec!["record", "-r", recording.to_str().unwrap(), &upstream];
    args.extend_from_slice(more);
    Server::start(scene.dir(), &args)
}

/// Follows the address of a batch's results, and returns it.
fn follow(server: &Server) -> String {
    let answer = server.call(&call(BATCH)).expect(200);
    let announced: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert_eq!(announced, answer.body().len());
    let address = answer.json()["results_url"].as_str().unwrap().to_owned();
    assert_eq!(answer.text(), batch(&address));
    // The tests call `localhost`.
    let path = address.strip_prefix("http://localhost").unwrap();
    let results = server.call(&call(path)).expect(200);
    assert_eq!(results.text(), "{\"custom_id\":\"a\"}\n");
    path.to_owned()
}

#[test]
fn client_follows_an_address_in_an_answer_through_loomrec() {
    for origin in [Some("https://api.anthropic.com"), None] {
        let scene = Scene::new();
        let upstream = batches(origin);
        let server = record(&scene, "anthropic", &upstream, &[]);
        let recorded = follow(&server);
        server.stop().expect(0);
        let origin = origin.map_or_else(|| upstream.url(), str::to_owned);
        let stored = scene.takes().remove(0).1["response"].to_string();
        assert!(stored.contains(&format!("{origin}{RESULTS}")), "{stored}");
        drop(upstream);
        let server = scene.replay(&["--strict"]);
        assert_eq!(follow(&server), recorded);
        server.stop().expect(0);
    }
}

#[test]
fn new_episodes_answer_from_either_side_with_addresses_of_loomrec() {
    let scene = Scene::new();
    let upstream = batches(None);
    let server = record(&scene, "anthropic", &upstream, &[]);
    server.call(&call(BATCH)).expect(200);
    server.stop().expect(0);
    let server = record(&scene, "anthropic", &upstream, &["--mode", "new_episodes"]);
    follow(&server);
    server.stop().expect(0);
    assert_eq!(upstream.requests(), 2, "the first is replayed");
}

#[test]
fn addresses_have_the_host_and_the_session_that_the_caller_wrote() {
    let scene = Scene::new();
    let upstream = batches(None);
    let server = record(&scene, "anthropic", &upstream, &[]);
    // The port of a container may have another number outside.
    let outside = call(&format!("/@one{BATCH}")).header("host: 127.0.0.1:8080");
    let answer = server.call(&outside).expect(200);
    let expected = format!("http://127.0.0.1:8080/@one{BATCH}/results?page=1");
    assert_eq!(answer.json()["results_url"], expected);
    server.stop().expect(0);
}

#[test]
fn answers_without_such_an_address_keep_their_bytes() {
    for body in [
        "{ \"id\":\"b1\",\"results_url\":null }",
        "{ \"id\":\"b1\",  \"results_url\":\"/v1/x\"",
        "{\"other\":\"https://api.anthropic.com/v1/x\"}",
    ] {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::json(200, body));
        let server = record(&scene, "anthropic", &upstream, &[]);
        assert_eq!(server.call(&call(BATCH)).expect(200).text(), body);
        server.stop().expect(0);
        let replayed = scene.replayed(&["--strict"], &[call(BATCH)], 0).remove(0);
        assert_eq!(replayed.expect(200).text(), body);
    }
}

#[test]
fn compressed_answer_is_opened_for_its_address_only() {
    let compressed = |text: String| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let headers = ["content-type: application/json", "content-encoding: gzip"];
    let zipped = || call(BATCH).header("accept-encoding: gzip");
    for (body, is_opened) in [
        (compressed(batch("https://api.anthropic.com/v1/r")), true),
        (compressed(batch("null")), false),
        (b"\x1f\x8bno gzip".to_vec(), false),
    ] {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::whole(200, &headers, &body));
        let server = record(&scene, "anthropic", &upstream, &[]);
        let recorded = server.call(&zipped()).expect(200);
        // An answer that cannot be decoded counts as failed.
        server.stop();
        let server = scene.replay(&["--strict"]);
        let replayed = server.call(&zipped()).expect(200);
        server.stop();
        for answer in [recorded, replayed] {
            assert_eq!(answer.header("content-encoding").is_none(), is_opened);
            match is_opened {
                true => assert!(answer.text().contains("/anthropic/v1/r"), "{}", answer.text()),
                false => assert_eq!(answer.body(), body),
            }
        }
    }
}

#[test]
fn address_in_a_header_leads_to_loomrec_and_then_to_the_path_of_the_api() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request: &Received| {
        let host = request.header("host").unwrap();
        match request.target.as_str() {
            "/base/upload/v1beta/files" => {
                let url = format!("x-goog-upload-url: http://{host}/base/up?upload_id=1%2F2");
                Answer::whole(200, &[&url], "")
            }
            "/base/up?upload_id=1%2F2" => Answer::whole(308, &["location: /base/done"], ""),
            "/base/done" => Answer::json(200, "{\"file\":{}}"),
            other => Answer::json(404, format!("{{\"error\":\"no {other}\"}}")),
        }
    });
    let base = format!("gemini={}/base", upstream.url());
    let recording = scene.recording();
    let recording = recording.to_str().unwrap();
    let args = ["-r", recording, "--upstream", &base];
    let chain = |server: &Server| {
        let first = server.call(&Call::post("/gemini/upload/v1beta/files", "{}")).expect(200);
        let path =
            first.header("x-goog-upload-url").unwrap().strip_prefix("http://localhost").unwrap();
        assert_eq!(path, "/gemini/up?upload_id=1%2F2");
        let second = server.call(&Call::post(path, "bytes")).expect(308);
        assert_eq!(second.header("location"), Some("/gemini/done"));
        let third = server.call(&Call::get(second.header("location").unwrap())).expect(200);
        assert_eq!(third.text(), "{\"file\":{}}");
    };
    let server = Server::start(scene.dir(), &[&["record"], &args[..]].concat());
    chain(&server);
    server.stop().expect(0);
    let server = Server::start(scene.dir(), &[&["replay", "--strict"], &args[..]].concat());
    chain(&server);
    server.stop().expect(0);
}

#[test]
fn address_elsewhere_passes_and_the_verdict_names_it() {
    let scene = Scene::new();
    let elsewhere = "https://eu.api.anthropic.com/v1/results";
    let upstream = Upstream::always(Answer::whole(
        200,
        &["content-type: application/json", "operation-location: https://else.example/op"],
        batch(elsewhere),
    ));
    let noted = "addresses that lead around loomrec";
    let receipt = scene.path("receipt.json");
    let flags = ["--receipt", receipt.to_str().unwrap()];
    let away = || -> Value {
        serde_json::from_slice::<Value>(&std::fs::read(&receipt).unwrap()).unwrap()
            ["addresses_away"]
            .clone()
    };
    let server = record(&scene, "anthropic", &upstream, &flags);
    let answer = server.call(&call(BATCH)).expect(200);
    assert_eq!(answer.text(), batch(elsewhere));
    assert_eq!(answer.header("operation-location"), Some("https://else.example/op"));
    server.stop().expect(0).says(&[noted]);
    let member = "results_url to https://eu.api.anthropic.com";
    assert_eq!(away(), json!({ member: 1, "operation-location to https://else.example": 1 }));
    let server = scene.replay(&[&["--strict"], &flags[..]].concat());
    let answer = server.call(&call(BATCH)).expect(200);
    assert_eq!(answer.text(), batch(elsewhere));
    assert_eq!(answer.header("operation-location"), None, "a stranger may have written it");
    server.stop().expect(0).says(&[noted]);
    let header = "operation-location to https://else.example, left out";
    assert_eq!(away(), json!({ member: 1, header: 1 }));
}

#[test]
fn queue_of_a_service_without_a_known_shape_is_followed_through_loomrec() {
    for (name, body) in [
        ("fal", json!({"status_url": "@/a/status", "response_url": "@/a", "cancel_url": "@/c"})),
        ("replicate", json!({"urls": {"get": "@/g", "cancel": "@/c"}, "next": null})),
    ] {
        let scene = Scene::new();
        let text = body.to_string();
        let upstream = Upstream::start(move |request: &Received| {
            let origin = format!("http://{}", request.header("host").unwrap());
            Answer::json(200, text.replace('@', &origin))
        });
        let server = record(&scene, name, &upstream, &[]);
        let expected = body.to_string().replace('@', &format!("http://localhost/{name}"));
        let request = Call::post(&format!("/{name}/x"), "{}");
        assert_eq!(server.call(&request).expect(200).text(), expected);
        server.stop().expect(0);
        let server = scene.replay(&["--strict"]);
        assert_eq!(server.call(&request).expect(200).text(), expected);
        server.stop().expect(0);
    }
}

/// The chunks of a stream of events with an address each. The second event comes in three chunks, with
/// its first address before the last of them.
fn event_chunks(origin: &str, framing: [&str; 2]) -> Vec<String> {
    let [begin, end] = framing;
    let early = format!("{begin}{{\"status_url\":\"{origin}/a\",");
    let late = format!("\"response_url\":\"{origin}/b\"}}{end}");
    vec![
        format!("{begin}{{\"n\":1, \"cancel_url\" : \"{origin}/c\"}}{end}"),
        early,
        "\"n\":2,".to_owned(),
        format!("{late}{begin}{{\"text\":\"{origin}/text\"}}{end}"),
    ]
}

#[test]
fn address_in_an_event_leads_to_loomrec_unless_the_event_came_in_parts() {
    for (media, framing) in [
        ("text/event-stream; charset=utf-8", ["event: status\r\ndata: ", "\r\n\r\n"]),
        ("application/x-ndjson", ["", "\n"]),
    ] {
        let scene = Scene::new();
        let upstream = Upstream::start(move |request: &Received| {
            let origin = format!("http://{}", request.header("host").unwrap());
            let content_type = format!("content-type: {media}");
            let head = Answer::head(200, &[&content_type, "transfer-encoding: chunked"]);
            let chunks = event_chunks(&origin, framing);
            chunks.iter().fold(head, |answer, chunk| answer.chunk(chunk).pause(20)).end()
        });
        let (there, here) = (upstream.url(), "http://localhost/fal");
        let mut expected = event_chunks(&there, framing);
        for (at, path) in [(0, "/c"), (3, "/b")] {
            let (from, to) = (format!("\"{there}{path}\""), format!("\"{here}{path}\""));
            expected[at] = expected[at].replace(&from, &to);
        }
        let expected: Vec<Vec<u8>> = expected.into_iter().map(String::into_bytes).collect();
        let receipt = scene.path("receipt.json");
        let flags = ["--receipt", receipt.to_str().unwrap()];
        let away = || {
            let receipt = std::fs::read(&receipt).unwrap();
            serde_json::from_slice::<Value>(&receipt).unwrap()["addresses_away"].clone()
        };
        let named = json!({"status_url in an event that came in parts": 1});
        let request = Call::post("/fal/x/status/stream", "{}");
        let server = record(&scene, "fal", &upstream, &flags);
        assert_eq!(server.call(&request).expect(200).chunks, expected);
        server.stop().expect(0).says(&["status_url in an event that came in parts"]);
        assert_eq!(away(), named);
        let stored = scene.takes().remove(0).1["response"].to_string();
        assert!(
            !stored.contains("localhost") && stored.contains(&format!("{there}/c")),
            "{stored}"
        );
        let server = scene.replay(&[&["--strict"], &flags[..]].concat());
        assert_eq!(server.call(&request).expect(200).chunks, expected);
        server.stop().expect(0);
        assert_eq!(away(), named);
    }
}
