//! Tests of what the inspector shows of a run's calls.

use super::*;

#[test]
fn a_run_says_what_it_is() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    server.call(&chat("one")).expect(200);
    details(&server, 1);
    let run = server.call(&get("run")).expect(200).json();
    let file = scene.recording().display().to_string();
    let expected = json!({ "v": 1, "kind": "run", "mode": "replay", "version": run["version"],
        "files": [file], "live": true, "token_needed": false, "calls": 1,
        "in_force": null });
    assert_eq!(run, expected);
    server.stop().expect(0);
}

#[test]
fn a_served_call_is_told_with_what_was_recorded() {
    let scene = recording_of(&["one", "two"]);
    let server = scene.replay(&[]);
    server.call(&chat("two")).expect(200);
    let told = details(&server, 1);
    assert_eq!((&told["v"], &told["seq"]), (&json!(1), &json!(1)));
    assert_eq!(told["line"]["outcome"], "served");
    assert_eq!(told["request"]["method"], "POST");
    assert_eq!(told["request"]["path"], "/v1/chat/completions");
    assert_eq!(message_texts(&told["request"]), ["two"]);
    assert_eq!(told["request"]["settings"], json!([["model", "gpt-4o-mini"]]));
    assert_eq!(told["answer"]["status"], 200);
    assert_eq!(message_texts(&told["answer"]), ["hi"]);
    assert_eq!(told["answer"]["finish"], "stop");
    assert_eq!(told["answer"]["chunks"], json!(null));
    let text = told["answer"]["text"].as_str().unwrap();
    assert!(text.starts_with("{\n  \"id\": \"chatcmpl-1\""), "{text}");
    for absent in ["mismatch", "nearest_request", "fault", "why_no_bodies"] {
        assert_eq!(told[absent], json!(null), "{absent}");
    }
    let key = told["line"]["entry"].as_str().unwrap();
    let named = server.call(&get(&format!("call?key={key}&take=1"))).expect(200).json();
    assert_eq!(named["request"], told["request"]);
    assert_eq!(named["answer"], told["answer"]);
    assert_eq!(named["line"]["outcome"], "recorded");
    server.stop().expect(0);
}

#[test]
fn a_recorded_call_is_told_as_soon_as_it_is_kept() {
    let scene = Scene::new();
    let events = chat_events(&["a", "b"]);
    let gate = Gate::new();
    let stream = Answer::stream().chunk(&events[0]).wait(&gate).chunk(events[1..].concat()).end();
    let upstream = Upstream::script(vec![Answer::json(200, chat_answer("hi")), stream]);
    let server = scene.record(&upstream, &[]);
    server.call(&chat("one").header("x-loomrec-step-id: plan")).expect(200);
    let told = details(&server, 1);
    assert_eq!(told["line"]["outcome"], "recorded");
    assert_eq!(
        (message_texts(&told["request"]), message_texts(&told["answer"])),
        (vec!["one".to_owned()], vec!["hi".to_owned()])
    );
    let named = server.call(&get("call?key=plan&take=1")).expect(200).json();
    assert_eq!(named["answer"], told["answer"]);
    let mut client = server.connect();
    client.send(&chat_streamed("two"));
    client.head();
    client.until("\n\n");
    server.call(&get("call?seq=2")).expect(404);
    gate.open();
    let told = details(&server, 2);
    assert_eq!(message_texts(&told["answer"]), ["ab"], "{:#}", told["answer"]);
    let chunks = &told["answer"]["chunks"];
    assert_eq!((&chunks["total"], &chunks["more"]), (&json!(2), &json!(false)));
    let list = chunks["list"].as_array().unwrap();
    assert_eq!(list[0]["text"], events[0]);
    assert_eq!(list[0]["bytes"], events[0].len());
    let ms = |at: usize, name: &str| list[at][name].as_f64().unwrap();
    let gap = ms(1, "at_ms") - ms(0, "at_ms");
    assert!(ms(0, "at_ms") >= 0.0 && (gap - ms(1, "gap_ms")).abs() < 0.01, "{chunks:#}");
    assert_eq!(server.call(&get("run")).json()["mode"], "record");
    server.stop().expect(0);
}

#[test]
fn a_call_is_told_while_its_exchange_is_folded_into_the_recording() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    let server = scene.record(&upstream, &[]);
    for _ in 0..4 {
        server.call(&chat("again")).expect(200);
    }
    let at = |seq| details(&server, seq)["request"]["messages"].clone();
    assert!((1..=4).all(|seq| at(seq) == at(1) && at(seq).is_array()));
    let third = server.call(&get(&format!(
        "call?key={}&take=3",
        details(&server, 3)["line"]["key"].as_str().unwrap()
    )));
    assert_eq!(third.expect(200).json()["line"]["at"], details(&server, 3)["line"]["at"]);
    server.stop().expect(0);
}

#[test]
fn a_missed_call_is_told_with_what_has_drifted() {
    let scene = recording_of(&["what is the weather"]);
    let server = scene.replay(&[]);
    let secret = format!("sk-proj-{}", "a1B2".repeat(12));
    let drifted = chat("what was the weather").header(&format!("authorization: Bearer {secret}"));
    server.call(&drifted).expect(422);
    let told = details(&server, 1);
    assert_eq!(told["line"]["outcome"], "missed");
    assert_eq!(message_texts(&told["request"]), ["what was the weather"]);
    assert_eq!(message_texts(&told["nearest_request"]), ["what is the weather"]);
    assert_eq!(told["answer"], json!(null));
    assert!(told["why_no_bodies"].as_str().unwrap().contains("missed"), "{told:#}");
    let mismatch = &told["mismatch"];
    let difference = &mismatch["differences"][0];
    assert_eq!(difference["pointer"], "/messages/0/content", "{mismatch:#}");
    assert!(difference["recorded"].as_str().unwrap().contains("what is"), "{mismatch:#}");
    assert!(mismatch["remedy"].as_str().unwrap().contains("loomrec rerecord"), "{mismatch:#}");
    assert_eq!(mismatch["nearest"]["take"], 1);
    assert!(!told.to_string().contains(&secret));
    server.stop().expect(1);
}

#[test]
fn requests_of_missed_calls_are_kept_up_to_a_number() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&[]);
    let mut client = server.connect();
    for number in 0..260 {
        client.exchange(&chat(&format!("other {number}"))).expect(422);
    }
    assert_eq!(message_texts(&details(&server, 260)["request"]), ["other 259"]);
    assert_eq!(message_texts(&details(&server, 5)["request"]), ["other 4"]);
    let gone = details(&server, 4);
    assert_eq!(gone["request"], json!(null));
    assert!(gone["why_no_bodies"].as_str().unwrap().contains("256"), "{gone:#}");
    assert_eq!(message_texts(&gone["nearest_request"]), ["one"]);
    server.stop().expect(1);
}

/// The number of the last line, once there is one for a refused call.
#[track_caller]
fn last_line(server: &Server) -> u64 {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let lines = server.call(&get("journal?since=0")).expect(200).text();
        if lines.contains("\"refused\"") {
            return lines.lines().count() as u64;
        }
        assert!(Instant::now() < until, "never refused: {lines}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn calls_of_which_nothing_is_kept_say_why() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--on-miss", "default"]);
    let fault = "x-loomrec-fault: {\"type\":\"http_error\",\"status_code\":503}";
    server.call(&chat("one").header(fault)).expect(503);
    server.call(&chat("nobody recorded this")).expect(200);
    server.call(&Call::get("/nowhere/x").header("host: localhost")).expect(404);
    // The outcome of the fault has its own lines.
    let last = last_line(&server);
    for (outcome, why) in
        [("faulted", "fault"), ("default", "placeholder"), ("refused", "request was refused")]
    {
        let mut told = (1..=last).map(|seq| details(&server, seq));
        let told = told.find(|told| told["line"]["outcome"] == outcome);
        let told = told.unwrap_or_else(|| panic!("there is no {outcome}"));
        assert_eq!((&told["request"], &told["answer"]), (&json!(null), &json!(null)));
        assert!(told["why_no_bodies"].as_str().unwrap().contains(why), "{told:#}");
        let fault = (outcome == "faulted").then_some("http_error");
        assert_eq!(told["fault"]["type"].as_str(), fault, "{told:#}");
    }
    server.stop();
}

#[test]
fn hostile_texts_come_as_text_and_huge_bodies_are_cut() {
    let hostile =
        "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}]0;x\u{7}\u{202e}";
    let huge = "é".repeat(700_000);
    let scene = Scene::new();
    let answers =
        vec![Answer::json(200, chat_answer(hostile)), Answer::json(200, chat_answer(&huge))];
    let upstream = Upstream::script(answers);
    scene.recorded(&upstream, &[chat("one"), chat(&huge)]);
    let server = scene.replay(&[]);
    server.call(&chat("one")).expect(200);
    server.call(&chat(&huge)).expect(200);
    let raw = server.call(&get("call?seq=1"));
    assert_eq!(raw.header("content-type"), Some("application/json"));
    assert_eq!(message_texts(&details(&server, 1)["answer"]), [hostile]);
    let told = details(&server, 2);
    for side in ["request", "answer"] {
        let text = told[side]["text"].as_str().unwrap();
        assert_eq!(told[side]["cut"], true, "{side}");
        assert!(text.len() <= 1 << 20 && text.len() > (1 << 20) - 4, "{side}: {}", text.len());
        assert!(told[side]["bytes"].as_u64().unwrap() > 1_400_000, "{side}");
    }
    assert!(told.to_string().len() < 6 << 20, "{}", told.to_string().len());
    server.stop().expect(0);
}

#[test]
fn a_scripted_call_says_that_nothing_of_it_is_kept() {
    let scene = Scene::new();
    std::fs::write(scene.path("script.json"), json!([[{ "text": "only" }]]).to_string()).unwrap();
    let server = Server::start(scene.dir(), &["replay", "--script", "script.json"]);
    server.call(&chat("x")).expect(200);
    let told = details(&server, 1);
    assert_eq!((&told["line"]["outcome"], &told["answer"]), (&json!("scripted"), &json!(null)));
    assert!(told["why_no_bodies"].as_str().unwrap().contains("script"), "{told:#}");
    server.stop();
}

#[test]
fn a_browser_on_the_address_of_a_run_gets_the_inspector_and_fails_nothing() {
    let scene = recording_of(&["hi"]);
    let page =
        |path: &str| Call::get(path).header("accept: text/html,application/xhtml+xml,*/*;q=0.8");
    let browse = |server: &Server| {
        for call in [page("/"), page("/?x=1"), Call::get("/").header("sec-fetch-dest: document")] {
            let answer = server.call(&call).expect(307);
            assert_eq!(answer.header("location"), Some("/__loomrec/"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        for path in ["/favicon.ico", "/apple-touch-icon.png"] {
            assert_eq!(server.call(&Call::get(path)).expect(404).header("x-loomrec-error"), None);
        }
    };
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    for server in [scene.replay(&[]), scene.record(&upstream, &["--mode", "new_episodes"])] {
        browse(&server);
        let ended = server.stop().expect(0);
        assert!(!ended.stderr.contains("refused"), "{}", ended.stderr);
    }
    assert_eq!(upstream.connections(), 0);
    // A program that calls such a path is refused, and so is a page of another site.
    let server = scene.replay(&[]);
    for (call, status, kind) in [
        (Call::get("/"), 404, "UnknownUpstream"),
        (Call::post("/favicon.ico", "{}"), 404, "UnknownUpstream"),
        (page("/nowhere"), 404, "UnknownUpstream"),
        (page("/").header("sec-fetch-site: cross-site"), 403, "ForbiddenOrigin"),
    ] {
        let answer = server.call(&call).expect(status);
        assert_eq!(answer.header("x-loomrec-error"), Some(kind));
    }
    server.stop().expect(1).says(&["calls refused: 4"]);
    // With a single upstream, every path is its own.
    let args = ["record", "-r", "one.json", "--upstream", &upstream.url()];
    let server = Server::start(scene.dir(), &args);
    server.call(&page("/")).expect(200);
    server.call(&Call::get("/favicon.ico")).expect(200);
    server.stop().expect(0);
    assert_eq!(upstream.requests(), 2);
}
