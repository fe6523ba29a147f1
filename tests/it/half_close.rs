//! Tests of clients that close the side of their connection that sends: those that wait for the
//! answer get it, and those that have left are noticed.

use std::time::Duration;

use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Client, End, Gate, Scene, Server, Upstream};

/// An answer that comes once the gate is open.
pub(crate) fn late(gate: &Gate) -> Answer {
    let body = chat_answer("late");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Answer::default().wait(gate).bytes(head + &body)
}

/// A client that has sent the call and closed its side.
fn half_closed(server: &Server, call: &Call) -> Client {
    let mut client = server.connect();
    client.send(call);
    client.close_sending();
    client
}

#[test]
fn a_replay_answers_every_client_that_closes_its_side_after_the_request() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--repeat", "last"]);
    for _ in 0..50 {
        let mut client = half_closed(&server, &chat("hi"));
        let got = client.answer().expect("an answer").expect(200);
        assert!(got.text().contains("hello"));
        // The server closes as well: nothing more can come from the client.
        assert_eq!(client.everything(), (Vec::new(), End::Closed));
    }
    server.stop().expect(0).says(&["50 served"]);
}

#[test]
fn an_upstreams_late_answer_reaches_a_client_that_has_closed_its_side() {
    for streamed in [false, true] {
        let (scene, gate) = (Scene::new(), Gate::new());
        let events = chat_events(&["ear", "late"]);
        let (first, rest) = events.split_first().unwrap();
        let begun = Answer::stream().chunk(first).wait(&gate);
        let stream = rest.iter().fold(begun, Answer::chunk).end();
        let upstream = Upstream::always(if streamed { stream } else { late(&gate) });
        let server = scene.record(&upstream, &[]);
        let call = if streamed { chat_streamed("hi") } else { chat("hi") };
        let mut client = half_closed(&server, &call);
        if streamed {
            client.head();
            client.until("assistant");
        } else {
            assert!(client.is_quiet_for(Duration::from_millis(300)));
        }
        gate.open();
        let text = match streamed {
            true => String::from_utf8(client.until("[DONE]")).unwrap(),
            false => client.answer().expect("an answer").expect(200).text(),
        };
        assert!(text.contains("late"), "{text}");
        assert_eq!(server.call_outcomes(1), [("recorded".to_owned(), "complete".to_owned())]);
        server.stop().expect(0).says(&["1 recorded"]);
    }
}

#[test]
fn a_client_that_leaves_is_noticed_before_there_is_an_answer() {
    for is_polite in [false, true] {
        let (scene, gate) = (Scene::new(), Gate::new());
        let upstream = Upstream::always(late(&gate));
        let server = scene.record(&upstream, &["--drain", "0"]);
        let mut client = server.connect();
        client.send(&chat("hi"));
        upstream.wait_for(1);
        if is_polite {
            client.close_sending();
        }
        drop(client);
        assert_eq!(server.call_outcomes(1), [("left".to_owned(), "client_left".to_owned())]);
        gate.open();
        server.stop();
    }
}

#[test]
fn a_hanging_fault_ends_when_its_client_leaves_and_not_when_it_closes_its_side() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hello")));
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--fault", "hang"]);
    let mut client = half_closed(&server, &chat("hi"));
    assert!(client.is_quiet_for(Duration::from_millis(300)));
    drop(client);
    // The first line says that the fault began.
    let outcomes = server.call_outcomes(2);
    assert_eq!(outcomes[1], ("faulted".to_owned(), "client_left".to_owned()), "{outcomes:?}");
    server.stop();
}
