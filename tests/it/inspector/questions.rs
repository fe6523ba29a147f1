//! Tests of what the inspector says calls ask.

use super::*;

/// What the calls of these numbers ask, once their lines are there.
#[track_caller]
fn asked(server: &Server, numbers: &[u64]) -> Value {
    numbers.iter().for_each(|seq| drop(details(server, *seq)));
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    server.call(&get(&format!("questions?seq={}", numbers.join(",")))).expect(200).json()
}

/// The answer in which the calls from 1 on ask this.
fn in_order(asks: &[Value]) -> Value {
    let of = |(at, asks)| json!({ "seq": at + 1, "asks": asks });
    json!({ "v": 1, "questions": asks.iter().enumerate().map(of).collect::<Vec<_>>() })
}

#[test]
fn recorded_calls_of_a_run_are_asked_about_while_it_records() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    let server = scene.record(&upstream, &[]);
    let step = |text: &str| chat(text).header("x-loomrec-step-id: plan");
    for call in [step("first"), chat("again"), step("second"), chat("again"), step("third")] {
        server.call(&call).expect(200);
    }
    let expected = ["first", "again", "second", "again", "third"].map(Value::from);
    assert_eq!(asked(&server, &[1, 2, 3, 4, 5]), in_order(&expected));
    let some = json!({ "v": 1, "questions": [
        { "seq": 3, "asks": "second" }, { "seq": 3, "asks": "second" },
        { "seq": 99, "asks": null }, { "seq": 0, "asks": null }] });
    let answer = server.call(&get("questions?seq=3,3,99,0")).expect(200);
    assert_eq!(answer.json(), some);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    // Lines hold no text.
    let lines = server.call(&get("journal?since=0")).expect(200).text();
    assert!(!lines.contains("asks") && !lines.contains("second"), "{lines}");
    assert!(
        !server.call(&get("call?seq=3")).expect(200).json()["line"].to_string().contains("asks")
    );
    server.stop().expect(0);
}

#[test]
fn served_and_missed_calls_of_a_run_are_asked_about() {
    let long = "word ".repeat(100);
    let scene = recording_of(&["one", &long]);
    let server = scene.replay(&[]);
    let secret = format!("sk-proj-{}", "a1B2".repeat(12));
    server.call(&chat(&long)).expect(200);
    server.call(&chat("one")).expect(200);
    server.call(&chat(&format!("my key\n is {secret}"))).expect(422);
    let fault = "x-loomrec-fault: {\"type\":\"http_error\",\"status_code\":503}";
    server.call(&chat("one").header(fault)).expect(503);
    let answer = asked(&server, &[1, 2, 3, 4]);
    let cut = format!("{}…", "word ".repeat(40).trim_end());
    let expected = [json!(cut), json!("one"), json!("my key is [REDACTED]"), Value::Null];
    assert_eq!(answer, in_order(&expected));
    assert_eq!(cut.chars().count(), 200);
    server.stop();
}

#[test]
fn questions_are_for_readers_who_may_look() {
    let scene = recording_of(&["one"]);
    let server = scene.replay(&["--control-token", "s3cret"]);
    let host = format!("host: {}", server.address);
    server.call(&chat("one")).expect(200);
    let ask = Call::get("/__loomrec/questions?seq=1").header(&host);
    let refused = server.call(&ask).expect(403);
    assert!(!refused.text().contains("one") && refused.json()["token_needed"] == true);
    let held = ask.header("authorization: Bearer s3cret");
    server.call(&held).expect(200);
    for query in ["", "?seq=", "?seq=x", &format!("?seq={}", ["1"; 101].join(","))] {
        let wrong = Call::get(&format!("/__loomrec/questions{query}")).header(&host);
        let wrong = server.call(&wrong.header("authorization: Bearer s3cret")).expect(400).json();
        let why = "say which calls: ?seq=NUMBER,NUMBER… (at most 100)";
        assert_eq!(wrong, json!({ "error": why }), "{query}");
    }
    server.stop();
}
