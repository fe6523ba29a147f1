//! Tests that every route to an upstream carries calls alike: http and https, directly and through
//! a proxy.

use crate::support::shape::{CHAT, chat, chat_answer, chat_streamed};
use crate::support::tls::REMOTE_HOST;
use crate::support::{Answer, Call, End, Gate, Response, Route, Scene, Server};

/// Runs a check on each route; the output of a failure names the route.
#[track_caller]
fn on_each_route(check: impl Fn(Route)) {
    for route in Route::ALL {
        eprintln!("on the way {route:?}");
        check(route);
    }
}

/// Records calls on a route whose upstream always gives this answer, and replays them strictly.
#[track_caller]
fn recorded_and_replayed(route: Route, answer: Answer, calls: &[Call]) -> [Vec<Response>; 2] {
    let (scene, upstream) = (Scene::new(), route.always(answer));
    let server = upstream.record(&scene, &["--keep-failures"]);
    let recorded = calls.iter().map(|call| server.call(call)).collect();
    server.stop().expect(0);
    drop(upstream);
    [recorded, scene.replayed(&["--strict"], calls, 0)]
}

#[test]
fn a_plain_answer_is_recorded_and_replayed() {
    on_each_route(|route| {
        let body = chat_answer("Hello");
        let answers = recorded_and_replayed(route, Answer::json(200, &body), &[chat("hi")]);
        for mut answers in answers {
            assert_eq!(answers.remove(0).expect(200).text(), body);
        }
    });
}

#[test]
fn an_upstream_is_sent_the_same_on_each_route() {
    on_each_route(|route| {
        let (scene, reached) = (Scene::new(), route.always(Answer::json(200, "{}")));
        let server = reached.record(&scene, &[]);
        server.call(&Call::post(&format!("{CHAT}?x=%2F&y"), "{}").header("x-own: 1")).expect(200);
        server.stop().expect(0);
        let received = reached.upstream.received().remove(0);
        let port = reached.upstream.address().port();
        let host = match route {
            Route::Http | Route::Https => format!("127.0.0.1:{port}"),
            Route::HttpProxy | Route::HttpsProxy => format!("{REMOTE_HOST}:{port}"),
        };
        let path = "/v1/chat/completions?x=%2F&y";
        let target = match route {
            Route::HttpProxy => format!("http://{host}{path}"),
            _ => path.to_owned(),
        };
        assert_eq!((&*received.method, &*received.target), ("POST", &*target));
        assert_eq!(received.head.all("host"), [host.as_str()]);
        assert_eq!(received.head.all("accept"), [""; 0]);
        assert_eq!(received.header("x-own"), Some("1"));
        assert_eq!(received.text(), "{}");
        let asked = reached.proxy.map(|proxy| proxy.heads().remove(0).line);
        let expected = match route {
            Route::HttpProxy => Some(format!("POST http://{host}{path} HTTP/1.1")),
            Route::HttpsProxy => Some(format!("CONNECT {host} HTTP/1.1")),
            Route::Http | Route::Https => None,
        };
        assert_eq!(asked, expected);
    });
}

/// Follows a streamed call: each chunk arrives before the upstream sends the next.
#[track_caller]
fn stream_step_by_step(server: &Server, gates: &[Gate], chunks: &[&str]) {
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    for (chunk, gate) in chunks.iter().zip(gates) {
        assert_eq!(client.chunk().unwrap(), chunk.as_bytes());
        gate.open();
    }
    assert_eq!(client.collect(head).expect(200).chunks, Vec::<Vec<u8>>::new());
}

#[test]
fn a_slow_stream_comes_chunk_by_chunk_with_its_boundaries_and_times() {
    on_each_route(|route| {
        let chunks = ["da", "ta: 1\n\ndata: 2", "\n\n"];
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        let stream = chunks.iter().zip(&gates).fold(Answer::stream(), |answer, (chunk, gate)| {
            answer.chunk(chunk).wait(gate).pause(40)
        });
        let (scene, upstream) = (Scene::new(), route.always(stream.end()));
        let server = upstream.record(&scene, &[]);
        stream_step_by_step(&server, &gates, &chunks);
        server.stop().expect(0);
        let take = scene.only_take();
        let times = take["response"]["chunks"].as_array().unwrap().iter();
        let times: Vec<f64> = times.map(|chunk| chunk[0].as_f64().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 39.0), "{times:?}");
        let replayed = scene.replayed(&["--strict"], &[chat_streamed("hi")], 0).remove(0);
        assert_eq!(replayed.chunks, chunks.map(str::as_bytes));
    });
}

#[test]
fn chunks_sent_in_one_write_are_kept_as_they_were_sent() {
    on_each_route(|route| {
        let chunks: Vec<String> =
            (0..200).map(|n| format!("data: {n:03} {}\n\n", "x".repeat(138))).collect();
        let framed = |chunk: &String| format!("{:x}\r\n{chunk}\r\n", chunk.len()).into_bytes();
        let burst = chunks.iter().flat_map(framed).collect::<Vec<_>>();
        let (scene, gate) = (Scene::new(), Gate::new());
        let upstream = route.always(Answer::stream().wait(&gate).bytes(burst).end());
        let server = upstream.record(&scene, &[]);
        let mut client = server.connect();
        client.send(&chat_streamed("hi"));
        let head = client.head();
        gate.open();
        let passed = client.collect(head).expect(200);
        server.stop().expect(0);
        assert_eq!(passed.body(), chunks.concat().into_bytes());
        assert_eq!(passed.chunks.len(), 200);
    });
}

/// How an answer ended: for the client of the recorder, for the client of the replay, and in the
/// recording.
#[derive(Debug, PartialEq)]
struct Ending {
    recorded: End,
    replayed: End,
    said: String,
}

impl Ending {
    fn alike(end: End, said: &str) -> Self {
        Self { recorded: end, replayed: end, said: said.to_owned() }
    }
}

/// Records and replays a call whose answer has `text` and then ends by `finish`.
#[track_caller]
fn ending(route: Route, answer: Answer, text: &str, finish: fn(Answer) -> Answer) -> Ending {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = route.always(finish(answer.wait(&gate)));
    let see = |server: Server| {
        let mut client = server.connect();
        client.send(&chat_streamed("hi"));
        let head = client.head();
        let begun = client.until(text);
        gate.open();
        let rest = client.collect(head);
        server.stop().expect(0);
        assert_eq!([begun, rest.body()].concat(), text.as_bytes());
        rest.end
    };
    let recorded = see(upstream.record(&scene, &["--keep-failures"]));
    let replayed = see(scene.replay(&["--strict"]));
    let response = &scene.only_take()["response"];
    let said = ["end", "cut"].iter().filter_map(|name| response[name].as_str());
    Ending { recorded, replayed, said: said.collect::<Vec<_>>().join(" ") }
}

#[test]
fn an_answer_that_is_cut_or_reset_is_recorded_as_that() {
    on_each_route(|route| {
        let closed = || Ending::alike(End::Closed, "upstream_abort close");
        let reset = || Ending::alike(End::Reset, "upstream_abort reset");
        let stream = || Answer::stream().chunk("data: 1\n\n");
        let short = || Answer::head(200, &["content-length: 100"]).bytes("{\"half\":");
        for (answer, text) in [(stream(), "data: 1\n\n"), (short(), "{\"half\":")] {
            assert_eq!(ending(route, answer.clone(), text, Answer::close), closed());
            assert_eq!(ending(route, answer.clone(), text, Answer::truncate), closed());
            assert_eq!(ending(route, answer, text, Answer::reset), reset());
        }
    });
}

#[test]
fn a_close_without_notice_is_no_harm_where_the_answer_says_its_own_end() {
    on_each_route(|route| {
        let complete = || Ending::alike(End::Complete, "complete");
        let whole = Answer::json(200, "{}");
        assert_eq!(ending(route, whole, "{}", Answer::truncate), complete());
        let stream = Answer::events(&["data: 1\n\n"]);
        assert_eq!(ending(route, stream, "data: 1\n\n", Answer::truncate), complete());
    });
}

#[test]
fn an_answer_that_ends_with_its_connection_is_complete_only_with_a_notice_over_tls() {
    on_each_route(|route| {
        let open = || Answer::head(200, &["content-type: text/plain"]).bytes("all of it");
        let said = |finish| ending(route, open(), "all of it", finish).said;
        assert_eq!(said(Answer::close), "complete");
        let truncated = if route.is_tls() { "upstream_abort close" } else { "complete" };
        assert_eq!(said(Answer::truncate), truncated);
    });
}

#[test]
fn answers_without_a_body_are_recorded_and_replayed() {
    on_each_route(|route| {
        let calls = [Call::new("HEAD", "/openai/v1/models"), Call::get("/openai/v1/files")];
        let answer = Answer::head(204, &["x-own: 1"]);
        for answers in recorded_and_replayed(route, answer, &calls) {
            for answer in answers {
                assert_eq!((answer.status, answer.end), (204, End::Complete));
                assert_eq!((answer.header("x-own"), answer.text().as_str()), (Some("1"), ""));
            }
        }
        let answer = Answer::head(200, &["content-length: 2000"]);
        for mut answers in recorded_and_replayed(route, answer, &calls[..1]) {
            let answer = answers.remove(0).expect(200);
            assert_eq!(answer.header("content-length"), Some("2000"));
        }
    });
}

#[test]
fn a_body_of_tens_of_megabytes_comes_whole() {
    on_each_route(|route| {
        let body: Vec<u8> = (0..24_u32 << 20).map(|n| (n.wrapping_mul(31) >> 7) as u8).collect();
        let headers = ["content-type: application/octet-stream"];
        let answer = Answer::whole(200, &headers, &body);
        let call = Call::get("/openai/v1/files/f/content");
        for mut answers in recorded_and_replayed(route, answer, &[call]) {
            assert!(answers.remove(0).expect(200).body() == body);
        }
    });
}

#[test]
fn calls_share_a_connection_until_the_upstream_closes_it() {
    on_each_route(|route| {
        let (scene, reached) = (Scene::new(), route.always(Answer::json(200, "{}")));
        let server = reached.record(&scene, &["--receipt", "receipt.json"]);
        for turn in 0..5 {
            server.call(&chat(&turn.to_string())).expect(200);
        }
        server.stop().expect(0);
        // A call that comes before the last connection is back in the pool opens another.
        let connections = reached.upstream.connections();
        assert!((1..5).contains(&connections), "{connections} connections for 5 calls");
        let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
        let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
        assert_eq!(receipt["upstream_connections"], connections);

        let last = Answer::whole(200, &["connection: close"], "{}");
        let (scene, reached) = (Scene::new(), route.always(last.close()));
        let server = reached.record(&scene, &[]);
        for turn in 0..3 {
            server.call(&chat(&turn.to_string())).expect(200);
        }
        server.stop().expect(0);
        assert_eq!((reached.upstream.connections(), reached.upstream.requests()), (3, 3));
    });
}
