//! Tests of recording: what goes to the upstream, what comes back, what is kept.

use serde_json::json;

use crate::support::shape::{CHAT, chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Client, End, Scene, Upstream};

fn upstream_of_json() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello.")))
}

#[test]
fn a_call_is_forwarded_and_answered_unchanged() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let odd = "{\n \"messages\" : [{\"content\":\"h\\u00e9llo ☃\",\"role\":\"user\"}],\t\"model\":\"m\",\
               \"seed\":9007199254740993, \"temperature\":1.0}";
    let answer = scene.recorded(&upstream, &[Call::post(CHAT, odd)]).remove(0).expect(200);
    assert_eq!(answer.text(), chat_answer("Hello."));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let received = &upstream.received()[0];
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(received.text(), odd);
    assert_eq!(received.header("host").unwrap(), upstream.address().to_string());
}

#[test]
fn an_answer_comes_back_byte_equal_however_it_is_written() {
    let bodies = [
        chat_answer("compact"),
        "{\n  \"id\": \"x\",\n  \"choices\": [],\n  \"n\": 1.0\n}\n".to_owned(),
        "{\"a\": 1, \"b\": [1, 2], \"c\": \"h\\u00e9\"}".to_owned(),
        "{\"a\":1,\"a\":2}".to_owned(),
        "{\"big\":123456789012345678901234567890,\"e\":1E5,\"slash\":\"\\/\"}  \r\n".to_owned(),
        "not json at all ☃".to_owned(),
        "\u{feff}{\"bom\":true}".to_owned(),
        "[1,".to_owned(),
        "null".to_owned(),
        "\"text\"".to_owned(),
        " ".to_owned(),
    ];
    let scene = Scene::new();
    let upstream = Upstream::script(bodies.iter().map(|body| Answer::json(200, body)).collect());
    let calls: Vec<Call> = (0..bodies.len()).map(|n| chat(&n.to_string())).collect();
    let recorded = scene.recorded(&upstream, &calls);
    let replayed = scene.replayed(&[], &calls, 0);
    for ((body, first), second) in bodies.iter().zip(&recorded).zip(&replayed) {
        assert_eq!(&first.text(), body);
        assert_eq!(second.body(), first.body(), "{body:?} came back as {:?}", second.text());
        assert_eq!(second.header("content-type"), Some("application/json"));
    }
}

#[test]
fn bytes_that_are_no_text_come_back_byte_equal() {
    let (scene, bytes) = (Scene::new(), (0..=255u8).cycle().take(5000).collect::<Vec<_>>());
    let upstream = Upstream::always(Answer::whole(200, &["content-type: audio/mpeg"], &bytes));
    let call = Call::post("/openai/v1/audio/speech", r#"{"model":"tts-1","input":"hi"}"#);
    let recorded = scene.recorded(&upstream, std::slice::from_ref(&call)).remove(0).expect(200);
    assert_eq!(recorded.body(), bytes);
    assert_eq!(scene.replayed(&[], &[call], 0).remove(0).expect(200).body(), bytes);
}

#[test]
fn any_method_and_path_is_forwarded_and_replayed() {
    let calls = [
        Call::get("/openai/v1/models"),
        Call::get("/openai/v1/files/file-1/content?purpose=a"),
        Call::new("DELETE", "/openai/v1/files/file-1"),
        Call::new("PUT", "/openai/v1/unknown/thing").body("x=1"),
        Call::new("PATCH", "/anthropic/v1/odd").body("{}"),
        Call::new("OPTIONS", "/openai/v1/models"),
        Call::new("BREW", "/openai/pot"),
        Call::get("/openai/"),
        Call::post("/openai/v1/batches", "{\"x\":1}"),
    ];
    let scene = Scene::new();
    let upstream = Upstream::start(|r| Answer::json(200, format!("{} {}", r.method, r.target)));
    let recorded = scene.recorded(&upstream, &calls);
    let seen: Vec<String> = recorded.into_iter().map(|r| r.expect(200).text()).collect();
    let targets = [
        "GET /v1/models",
        "GET /v1/files/file-1/content?purpose=a",
        "DELETE /v1/files/file-1",
        "PUT /v1/unknown/thing",
        "PATCH /v1/odd",
        "OPTIONS /v1/models",
        "BREW /pot",
        "GET /",
        "POST /v1/batches",
    ];
    assert_eq!(seen, targets);
    let replayed = scene.replayed(&["--strict"], &calls, 0);
    let again: Vec<String> = replayed.into_iter().map(|r| r.expect(200).text()).collect();
    assert_eq!(again, targets);
}

#[test]
fn the_raw_percent_encoding_of_a_path_is_kept() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    let paths = [
        "/v1/models/org%2Fname%3Av1%20x?after=%2Fa%3D&q=a+b%20c",
        "/model/arn%3Aaws%3Abedrock%2Fx/converse",
        "/v1/%7euser/%C3%A9/%c3%a9",
        "/v1//double///slash/",
        "/v1/a;b=c,d@e:f!$&'()*",
    ];
    let calls: Vec<Call> = paths.iter().map(|path| Call::get(&format!("/openai{path}"))).collect();
    scene.recorded(&upstream, &calls).into_iter().for_each(|r| drop(r.expect(200)));
    let targets: Vec<String> = upstream.received().into_iter().map(|r| r.target).collect();
    assert_eq!(targets, paths);
    let kept: Vec<String> = scene
        .takes()
        .iter()
        .map(|(_, take)| take["request"]["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kept[1..], paths[1..]);
    scene.replayed(&["--strict"], &calls, 0).into_iter().for_each(|r| drop(r.expect(200)));
}

#[test]
fn a_path_that_would_change_on_the_way_is_refused_and_not_sent() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, "{}")));
    for path in ["/v1/files/%2e%2e/x", "/v1/x/../y", "/v1/./z", "/v1/z/.", "/v1/z/.%2E"] {
        let server = scene.record(&upstream, &[]);
        let answer = server.call(&Call::get(&format!("/openai{path}"))).expect(400);
        assert!(answer.text().contains("dot segments"));
        // Nothing was recorded, so the run fails.
        server.stop().expect(1);
    }
    assert_eq!(upstream.received().len(), 0);
}

#[test]
fn a_post_without_a_body_says_so_to_the_upstream() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let calls = [
        Call::new("POST", "/openai/v1/batches/b/cancel").header("content-length: 0"),
        Call::new("POST", "/openai/v1/batches/c/cancel").body(""),
    ];
    scene.recorded(&upstream, &calls).into_iter().for_each(|answer| drop(answer.expect(200)));
    for received in upstream.received() {
        assert_eq!(received.header("content-length"), Some("0"), "{:?}", received.head);
    }
}

#[test]
fn an_upstream_that_speaks_http_1_0_is_answered_for_in_1_1() {
    let answer = "HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nabc";
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::raw(answer).close()));
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    for path in ["/openai/v1/one", "/openai/v1/two"] {
        let response = client.exchange(&Call::get(path)).expect(200);
        assert_eq!(response.text(), "abc");
        assert!(response.head.raw.starts_with(b"HTTP/1.1 200"), "{:?}", response.head);
    }
    server.stop().expect(0);
}

#[test]
fn an_upstream_with_a_path_of_its_own_keeps_it_in_front() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let base = format!("openai={}/gate%2Fway/eu/", upstream.url());
    let server = scene.record(&upstream, &["--upstream", &base]);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    assert_eq!(upstream.received()[0].target, "/gate%2Fway/eu/v1/chat/completions");
    scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
}

#[test]
fn an_absolute_form_request_line_is_understood() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let absolute = |server: &crate::support::Server| {
        let body = chat_body("hi").to_string();
        server.call(&Call::post(&format!("http://{}{CHAT}", server.address), body)).expect(200)
    };
    let server = scene.record(&upstream, &[]);
    absolute(&server);
    server.stop().expect(0);
    assert_eq!(upstream.received()[0].target, "/v1/chat/completions");
    let server = scene.replay(&["--strict"]);
    absolute(&server);
    server.stop().expect(0);
}

#[test]
fn an_answer_that_is_no_success_is_kept_with_its_headers() {
    let (scene, body) = (Scene::new(), r#"{"error":{"message":"slow down","type":"requests"}}"#);
    let headers = ["content-type: application/json", "retry-after: 7", "x-request-id: req_1"];
    let upstream = Upstream::script(vec![
        Answer::whole(429, &headers, body),
        Answer::whole(529, &["x-a: 1", "x-a: 2"], "overloaded"),
    ]);
    let calls = [chat("hi"), chat("ho")];
    let recorded = scene.recorded(&upstream, &calls);
    let replayed = scene.replayed(&["--strict"], &calls, 0);
    for answers in [recorded, replayed] {
        let [first, second] = answers.try_into().unwrap();
        let first = first.expect(429);
        assert_eq!((first.header("retry-after"), first.text().as_str()), (Some("7"), body));
        assert_eq!(first.header("x-request-id"), Some("req_1"));
        let second = second.expect(529);
        assert_eq!(second.head.all("x-a"), ["1", "2"]);
        assert_eq!(second.text(), "overloaded");
    }
}

#[test]
fn answers_without_a_body_are_recorded_and_replayed() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/head" => Answer::head(200, &["content-length: 1234", "x-kind: head"]),
        "/204" => Answer::head(204, &["x-kind: none"]),
        "/304" => Answer::head(304, &["etag: \"v1\""]),
        "/empty" => Answer::head(200, &["content-length: 0"]),
        _ => Answer::head(200, &["transfer-encoding: chunked"]).end(),
    });
    let calls = [
        Call::new("HEAD", "/openai/head"),
        Call::get("/openai/204"),
        Call::get("/openai/304"),
        Call::get("/openai/empty"),
        Call::get("/openai/chunked"),
        Call::new("DELETE", "/openai/empty"),
    ];
    let recorded = scene.recorded(&upstream, &calls);
    let replayed = scene.replayed(&["--strict"], &calls, 0);
    for answers in [recorded, replayed] {
        let seen: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(seen, [200, 204, 304, 200, 200, 200]);
        assert!(
            answers.iter().all(|answer| answer.end == End::Complete && answer.body().is_empty())
        );
        assert_eq!(answers[0].header("x-kind"), Some("head"));
        assert_eq!(answers[0].header("content-length"), Some("1234"));
        assert_eq!(answers[2].header("etag"), Some("\"v1\""));
    }
}

#[test]
fn an_answer_of_unknown_length_is_recorded_whole() {
    let (scene, body) = (Scene::new(), chat_answer("until the end"));
    let answer = Answer::head(200, &["content-type: application/json"]).bytes(body.as_str());
    let upstream = Upstream::always(answer.close());
    let recorded = scene.recorded(&upstream, &[chat("hi")]).remove(0);
    assert_eq!(recorded.text(), body);
    assert_eq!(scene.only_take()["response"]["end"], "complete");
    assert_eq!(scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200).text(), body);
}

#[test]
fn a_client_that_expects_100_continue_gets_it() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let body = chat_body("hi").to_string();
    let exchange = |server: &crate::support::Server| {
        let mut client = Client::connect(server.address);
        let length = format!("content-length: {}", body.len());
        let head = Call::new("POST", CHAT).header("expect: 100-continue").header(&length);
        client.send(&head.header("content-type: application/json"));
        assert!(client.any_head().line.contains(" 100 "));
        client.write(&body);
        let head = client.head();
        client.collect(head).expect(200);
    };
    let server = scene.record(&upstream, &[]);
    exchange(&server);
    server.stop().expect(0);
    assert_eq!(upstream.received()[0].text(), body);
    let server = scene.replay(&["--strict"]);
    exchange(&server);
    server.stop().expect(0);
}

#[test]
fn a_chunked_request_has_the_same_identity_as_a_whole_one() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let body = chat_body("hi").to_string();
    let (front, back) = body.split_at(11);
    let framed =
        format!("b\r\n{front}\r\n{:x};ext=1\r\n{back}\r\n0\r\nx-trailer: 1\r\n\r\n", back.len());
    let call = Call::post(CHAT, framed).header("transfer-encoding: chunked");
    scene.recorded(&upstream, &[call]).remove(0).expect(200);
    assert_eq!(upstream.received()[0].text(), body);
    scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(200);
}

#[test]
fn malformed_json_is_forwarded_and_recorded_by_its_bytes() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(400, "{\"error\":{}}")));
    let bodies = ["{\"messages\": [", "{\"a\":1,\"a\":1}", "\u{fffd}nonsense", ""];
    let calls: Vec<Call> = bodies.iter().map(|body| Call::post(CHAT, body)).collect();
    scene.recorded(&upstream, &calls).into_iter().for_each(|r| drop(r.expect(400)));
    let sent: Vec<String> = upstream.received().iter().map(|r| r.text()).collect();
    assert_eq!(sent, bodies);
    scene.replayed(&["--strict"], &calls, 0).into_iter().for_each(|r| drop(r.expect(400)));
    let other = Call::post(CHAT, "{\"messages\": [ ");
    scene.replayed(&[], &[other], 1).remove(0).expect(422);
}

#[test]
fn the_summary_is_filled_for_chat() {
    let (scene, upstream) = (Scene::new(), upstream_of_json());
    let body = json!({"messages": [{"role": "user", "content": "hi"}], "model": "m"});
    scene.recorded(&upstream, &[Call::post(CHAT, body.to_string())]);
    let (name, take) = scene.takes().remove(0);
    let agentloom = "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c";
    assert_eq!((name.as_str(), take["request_hash"].as_str()), (agentloom, Some(agentloom)));
    assert_eq!(take["content"], "Hello.");
    assert_eq!(take["model"], "gpt-4o-mini-2024-07-18");
    assert_eq!(take["finish_reason"], "stop");
    assert_eq!(take["usage"]["prompt_tokens"], 9);
    assert_eq!(take["usage"]["total_tokens"], 21);
    assert!(take["cost_usd"].as_f64().unwrap() > 0.0);
    assert!(take["latency_ms"].as_f64().is_some());
    assert_eq!(
        (take["upstream"].as_str(), take["provider"].as_str()),
        (Some("openai"), Some("openai"))
    );
    assert_eq!(take["request"]["method"], "POST");
    assert_eq!(take["request"]["body"], body);
    assert_eq!(take["response"]["status"], 200);
    assert_eq!(take["response"]["end"], "complete");
    assert_eq!(scene.json()["_version"], 2);
    assert_eq!(scene.json()["_loomrec"]["format"], "1.0");
}

#[test]
fn a_server_that_got_no_call_says_that_nothing_was_recorded() {
    let (scene, upstream) = (Scene::new(), Upstream::script(vec![]));
    let ended = scene.record(&upstream, &[]).stop().expect(0);
    for told in ["run.json: not written, because nothing was recorded", "no call came to this"] {
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
}
