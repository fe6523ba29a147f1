//! Tests of clients that speak HTTP/2 alone: the same answers, faults and cuts as over HTTP/1.1.

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::Value;

use crate::half_close::late;
use crate::support::gate::PATIENCE;
use crate::support::http2_client::{Http2Client, chosen_protocol};
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::tls::Authority;
use crate::support::{Answer, Call, Client, Gate, Scene, Upstream};

/// An upstream that answers each prompt with itself.
fn echo() -> Upstream {
    Upstream::start(|call| {
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        Answer::json(200, chat_answer(body["messages"][0]["content"].as_str().unwrap()))
    })
}

#[test]
fn recording_made_in_one_version_of_http_replays_in_the_other() {
    for is_recorded_over_http2 in [false, true] {
        let (scene, upstream) = (Scene::new(), echo());
        let server = scene.record(&upstream, &[]);
        if is_recorded_over_http2 {
            let answer = Http2Client::connect(server.address).call(&chat("Hello"));
            assert_eq!(answer.status, StatusCode::OK);
            assert_eq!(answer.text(), chat_answer("Hello"));
        } else {
            server.call(&chat("Hello")).expect(200);
        }
        server.stop().expect(0).says(&["1 recorded"]);
        // The upstream is called over HTTP/1.1, with no trace of the client's version.
        let received = upstream.received().remove(0);
        assert_eq!(received.header("transfer-encoding"), None);
        assert_eq!(received.body, chat("Hello").body_bytes());

        let server = scene.replay(&["--strict"]);
        let mut client = Http2Client::connect(server.address);
        let missed = client.call(&chat("Hello!"));
        assert_eq!(missed.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(missed.text().contains("RecordingMismatchError"), "{}", missed.text());
        match is_recorded_over_http2 {
            true => {
                assert_eq!(server.call(&chat("Hello")).expect(200).text(), chat_answer("Hello"))
            }
            false => assert_eq!(client.call(&chat("Hello")).text(), chat_answer("Hello")),
        }
        server.stop().expect(1).says(&["1 served", "1 missed"]);
    }
}

#[test]
fn streamed_answer_comes_in_its_pieces_and_ends_well() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["one ", "two ", "three"]);
    let (first, rest) = events.split_first().unwrap();
    let begun = Answer::stream().chunk(first).wait(&gate);
    let upstream = Upstream::always(rest.iter().fold(begun, Answer::chunk).end());
    let server = scene.record(&upstream, &[]);
    let mut client = Http2Client::connect(server.address);
    let call = client.start(&chat_streamed("count"));
    // The connection answers other calls meanwhile.
    let health = client.call(&Call::get("/__loomrec/health"));
    assert_eq!(health.status, StatusCode::OK);
    assert!(!call.is_over());
    gate.open();
    let answer = client.finish(call).unwrap();
    assert_eq!((answer.text(), answer.reset), (events.concat(), None));
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    server.stop().expect(0).says(&["1 recorded"]);
    let server = scene.replay(&["--strict"]);
    let answer = Http2Client::connect(server.address).call(&chat_streamed("count"));
    assert_eq!((answer.text(), answer.reset), (events.concat(), None));
    server.stop().expect(0);
}

#[test]
fn many_calls_share_a_connection_and_each_gets_its_own_answer() {
    let (scene, upstream) = (Scene::new(), echo());
    let server = scene.record(&upstream, &[]);
    let mut client = Http2Client::connect(server.address);
    let prompts: Vec<String> = (0..300).map(|number| format!("prompt {number}")).collect();
    let calls: Vec<_> = prompts.iter().map(|prompt| client.start(&chat(prompt))).collect();
    for (prompt, call) in prompts.iter().zip(calls) {
        assert_eq!(client.finish(call).unwrap().text(), chat_answer(prompt));
    }
    server.stop().expect(0).says(&["300 recorded"]);
    let server = scene.replay(&["--strict"]);
    let mut client = Http2Client::connect(server.address);
    let calls: Vec<_> = prompts.iter().map(|prompt| client.start(&chat(prompt))).collect();
    for (prompt, call) in prompts.iter().zip(calls) {
        assert_eq!(client.finish(call).unwrap().text(), chat_answer(prompt));
    }
    server.stop().expect(0).says(&["300 served"]);
}

#[test]
fn fault_that_cuts_resets_the_stream_of_its_call_alone() {
    let scene = Scene::new();
    let events = chat_events(&["one ", "two ", "three"]);
    let stream = events.iter().fold(Answer::stream(), Answer::chunk).end();
    let upstream = Upstream::always(stream);
    scene.recorded(&upstream, &[chat_streamed("cut"), chat_streamed("whole")]);
    for (fault, begins) in [
        ("connection_reset", false),
        ("connection_drop", false),
        ("timeout:50", false),
        ("stream_truncate;after_events=2", true),
        ("stream_truncate;after_events=2;raise=close", true),
    ] {
        let server = scene.replay(&[]);
        let struck = chat_streamed("cut").header(&format!("x-loomrec-fault: {fault}"));
        let mut client = Http2Client::connect(server.address);
        let (whole, cut) = (client.start(&chat_streamed("whole")), client.start(&struck));
        match (client.finish(cut), begins) {
            (Err(why), false) => assert!(why.contains("INTERNAL_ERROR"), "{fault}: {why}"),
            (Ok(answer), true) => {
                assert_eq!(answer.text(), events[..2].concat(), "{fault}");
                assert!(answer.reset.unwrap().contains("INTERNAL_ERROR"), "{fault}");
            }
            (other, _) => panic!("{fault}: {other:?}"),
        }
        assert_eq!(client.finish(whole).unwrap().text(), events.concat(), "{fault}");
        // The same connection gets the recorded answer at the next attempt.
        assert_eq!(client.call(&chat_streamed("cut")).text(), events.concat(), "{fault}");
        server.stop().expect(0).says(&["1 fault fired"]);
    }
}

#[test]
fn client_that_resets_its_stream_has_left_its_call() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--fault", "hang;times=1"]);
    let mut client = Http2Client::connect(server.address);
    let call = client.start(&chat("hi"));
    // The first line says that the fault began.
    server.call_outcomes(1);
    client.leave(&call);
    let outcomes = server.call_outcomes(2);
    assert_eq!(outcomes[1], ("faulted".to_owned(), "client_left".to_owned()), "{outcomes:?}");
    assert_eq!(client.call(&chat("hi")).text(), chat_answer("hello"));
    server.stop();
}

#[test]
fn over_tls_clients_get_http2_only_if_they_offer_nothing_else() {
    let (scene, upstream) = (Scene::new(), echo());
    scene.recorded(&upstream, &[chat("Hello")]);
    let authority = Authority::trusted();
    let [certificate, key] = authority.write_server(scene.dir());
    let server = scene.replay(&["--strict", "--tls-cert", &certificate, "--tls-key", &key]);
    for (offers, chosen) in [
        (&["h2", "http/1.1"][..], Some("http/1.1")),
        (&["http/1.1"], Some("http/1.1")),
        (&["h2"], Some("h2")),
        (&[], None),
    ] {
        let got = chosen_protocol(server.address, authority, offers);
        assert_eq!(got.as_deref(), chosen, "{offers:?}");
    }
    let mut client = Http2Client::connect_tls(server.address, authority, &["h2"]);
    assert_eq!(client.call(&chat("Hello")).text(), chat_answer("Hello"));
    server.stop().expect(0).says(&["1 served"]);
}

#[test]
fn silent_connection_is_closed_and_one_with_a_call_is_not() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(late(&gate));
    let server = scene.record(&upstream, &["--client-timeout", "1"]);
    let (mut silent, mut busy) =
        (Http2Client::connect(server.address), Http2Client::connect(server.address));
    let call = busy.start(&chat("hi"));
    let until = Instant::now() + PATIENCE;
    while silent.is_open() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!call.is_over());
    gate.open();
    assert_eq!(busy.finish(call).unwrap().text(), chat_answer("late"));
    server.stop().expect(0).says(&["1 recorded"]);
}

#[test]
fn garbage_after_the_preface_and_floods_of_resets_harm_no_other_client() {
    let (scene, upstream) = (Scene::new(), echo());
    scene.recorded(&upstream, &[chat("Hello")]);
    let server = scene.replay(&["--repeat", "last"]);
    let mut other = Http2Client::connect(server.address);
    let mut garbage = Client::connect(server.address);
    garbage.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    garbage.write([0xff; 4096]);
    garbage.everything();
    // HEADERS of a GET and RST_STREAM, for one stream after the other.
    let mut flood = Client::connect(server.address);
    flood.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00");
    let frames: Vec<u8> = (0..20_000_u32)
        .flat_map(|number| {
            let stream = (2 * number + 1).to_be_bytes();
            let headers = [0x82, 0x86, 0x84, 0x41, 0x01, b'x'];
            let head = [&[0, 0, 6, 1, 5][..], &stream, &headers].concat();
            [head, [&[0, 0, 4, 3, 0][..], &stream, &[0, 0, 0, 8]].concat()].concat()
        })
        .collect();
    flood.write(frames);
    flood.everything();
    assert_eq!(other.call(&chat("Hello")).text(), chat_answer("Hello"));
    server.stop().expect(0);
}
