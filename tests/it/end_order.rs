//! Calls at the same time: in a replay their answers end in the order in which they ended in the
//! recorded run.

mod timelines;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Client, Gate, Scene, Server, Upstream};

/// A server that keeps the order.
const RECORDED: [&str; 2] = ["--end-order", "recorded"];

/// How long an answer waits for others, as docs/recording-format.md says.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How long a test looks to prove that something waits.
const LOOK: Duration = Duration::from_millis(150);

/// A note of the receipt.
const OUT_OF_ORDER: &str = "see --end-order";

/// A program that sends each prompt on a connection of its own, and prints the prompts in the order
/// in which their answers ended. It takes one event of its sockets at a time, in their order.
const PROGRAM: &str = r#"
import json, os, select, socket, sys, urllib.parse
url = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
events, waiting, ended = select.epoll(), {}, []
for prompt in sys.argv[1:]:
    body = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]})
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: {url.netloc}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection = socket.create_connection((url.hostname, url.port))
    connection.sendall((head + body).encode())
    events.register(connection, select.EPOLLIN)
    waiting[connection.fileno()] = [prompt, connection, b""]
while waiting:
    for number, _ in events.poll(30, 1):
        call = waiting[number]
        call[2] += call[1].recv(1 << 16)
        head, _, body = call[2].partition(b"\r\n\r\n")
        length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
        if len(body) >= int(length):
            ended.append(call[0])
            events.unregister(number)
            del waiting[number]
print(" ".join(ended))
"#;

/// Records calls that are open at the same time, whose answers end in the order of `ends`.
fn record_at_once(scene: &Scene, prompts: &[&str], ends: &[usize]) {
    let gates: Vec<Gate> = prompts.iter().map(|_| Gate::new()).collect();
    let answers: Vec<(Vec<u8>, Answer)> = prompts
        .iter()
        .zip(&gates)
        .map(|(prompt, gate)| {
            let answer = Answer::default().wait(gate).bytes(whole(prompt));
            (chat(prompt).body_bytes().to_vec(), answer)
        })
        .collect();
    let upstream = Upstream::start(move |received| {
        answers.iter().find(|(body, _)| *body == received.body).unwrap().1.clone()
    });
    let server = scene.record(&upstream, &[]);
    let open = |(at, prompt): (usize, &&str)| {
        let mut client = server.connect();
        client.send(&chat(prompt));
        upstream.wait_for(at + 1);
        client
    };
    let mut clients: Vec<Client> = prompts.iter().enumerate().map(open).collect();
    for &at in ends {
        gates[at].open();
        clients[at].answer().unwrap().expect(200);
    }
    server.stop().expect(0);
}

/// The bytes of an answer that says `text`.
fn whole(text: &str) -> Vec<u8> {
    let body = chat_answer(text);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Records these calls, one after the other.
fn record_alone(scene: &Scene, calls: &[Call]) {
    let upstream = Upstream::start(|received| match received.text().contains("\"stream\":true") {
        true => Answer::events(&chat_events(&["one ", "two"])),
        false => Answer::json(200, chat_answer("hello")),
    });
    scene.recorded(&upstream, calls);
}

/// What the call of an entry asks.
fn prompt_of(entry: &Value) -> &str {
    entry["request"]["body"]["messages"][0]["content"].as_str().unwrap_or_default()
}

/// Changes the entry of each of these prompts in the recording, whose members are sorted then.
fn change_entries(scene: &Scene, mut change: impl FnMut(&str, &mut Value)) {
    let mut recording = scene.json();
    for (_, entry) in recording.as_object_mut().unwrap().iter_mut() {
        let prompt = prompt_of(entry).to_owned();
        if !prompt.is_empty() {
            change(&prompt, entry);
        }
    }
    scene.write(recording.to_string());
}

/// Sets when the calls arrived and when their answers ended, in milliseconds.
fn set_times(scene: &Scene, times: &[(&str, f64, f64)]) {
    change_entries(scene, |prompt, entry| {
        let (_, arrived, ended) = times.iter().find(|(name, ..)| *name == prompt).unwrap();
        let time = |ms: f64| json!(format!("2026-11-22T10:00:{:09.6}Z", ms / 1000.0));
        (entry["recorded_at"], entry["ended_at"]) = (time(*arrived), time(*ended));
    });
}

/// Makes the answer to `prompt` larger than what the system takes for a client that does not read.
fn make_large(scene: &Scene, prompt: &str) {
    const LENGTH: usize = 16 << 20;
    change_entries(scene, |name, entry| {
        if name == prompt {
            let headers =
                json!({"content-type": "text/plain", "content-length": LENGTH.to_string()});
            entry["response"] = json!({
                "status": 200, "headers": headers, "end": "complete", "text": "x".repeat(LENGTH),
            });
        }
    });
}

/// A scene in which A ended before B, both were open at the same time, and the answer of A is large.
fn slow_reader(second: &Call) -> Scene {
    let scene = Scene::new();
    record_alone(&scene, &[chat("A"), second.clone()]);
    set_times(&scene, &[("A", 0.0, 500.0), ("B", 10.0, 900.0)]);
    make_large(&scene, "A");
    scene
}

/// Sends A and reads the head of its answer: from then on, A is open.
fn open_a(server: &Server) -> Client {
    let mut client = server.connect();
    client.send(&chat("A"));
    client.head();
    client
}

/// Checks that a call is answered while another one is open.
#[track_caller]
fn answers_beside_an_open_call(server: Server) {
    let (_a, began) = (open_a(&server), Instant::now());
    server.call(&chat("B")).expect(200);
    assert!(began.elapsed() < LONGEST_WAIT, "{:?}", began.elapsed());
    server.stop().expect(0);
}

#[test]
fn program_sees_answers_end_as_recorded_whatever_order_it_asks_in() {
    let scene = Scene::new();
    record_at_once(&scene, &["A", "B", "C"], &[2, 0, 1]);
    let orders = [
        ["A", "B", "C"],
        ["A", "C", "B"],
        ["B", "A", "C"],
        ["B", "C", "A"],
        ["C", "A", "B"],
        ["C", "B", "A"],
    ];
    for round in 0..20 {
        let mut args = scene.replay_args(&["--strict", "--", "python3", "-c", PROGRAM]);
        args.extend(orders[round % orders.len()].iter().map(Into::into));
        let ended = finish(&mut command(scene.dir(), &args), b"").expect(0);
        assert_eq!(ended.stdout, "C A B\n", "round {round}");
        assert!(!ended.stderr.contains(OUT_OF_ORDER), "{}", ended.stderr);
    }
}

#[test]
fn answer_waits_for_an_open_call_that_ended_first_and_goes_on_when_its_client_leaves() {
    let scene = slow_reader(&chat("B"));
    let server = scene.replay(&RECORDED);
    let (a, mut b) = (open_a(&server), server.connect());
    b.send(&chat("B"));
    assert!(b.is_quiet_for(LOOK), "neither head nor bytes come");
    let left = Instant::now();
    drop(a);
    b.answer().unwrap().expect(200);
    assert!(left.elapsed() < LONGEST_WAIT - LOOK, "{:?}", left.elapsed());
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains(OUT_OF_ORDER), "{}", ended.stderr);
}

#[test]
fn answer_waits_until_the_open_call_was_read() {
    let scene = slow_reader(&chat("B"));
    let server = scene.replay(&RECORDED);
    let (mut a, mut b) = (open_a(&server), server.connect());
    b.send(&chat("B"));
    assert!(b.is_quiet_for(LOOK));
    let rest: usize = std::iter::from_fn(|| a.chunk()).map(|chunk| chunk.len()).sum();
    assert_eq!(rest, 16 << 20);
    b.answer().unwrap().expect(200);
    server.stop().expect(0);
}

#[test]
fn answer_goes_on_after_the_longest_wait_and_the_receipt_says_so() {
    let scene = slow_reader(&chat("B"));
    let server = scene.replay(&RECORDED);
    let (_a, mut b) = (open_a(&server), server.connect());
    let began = Instant::now();
    b.send(&chat("B"));
    b.answer().unwrap().expect(200);
    assert!(began.elapsed() >= LONGEST_WAIT, "{:?}", began.elapsed());
    assert!(began.elapsed() < LONGEST_WAIT * 3, "{:?}", began.elapsed());
    server.stop().expect(0).says(&["had waited for 5 s: 1; see --end-order"]);
}

#[test]
fn server_keeps_no_order_unless_it_is_asked_to() {
    let scene = slow_reader(&chat("B"));
    for more in [&[][..], &["--end-order", "any"]] {
        let server = scene.replay(more);
        answers_beside_an_open_call(server);
    }
}

#[test]
fn calls_that_did_not_overlap_wait_for_none() {
    let scene = slow_reader(&chat("B"));
    set_times(&scene, &[("A", 0.0, 500.0), ("B", 500.001, 900.0)]);
    let server = scene.replay(&RECORDED);
    answers_beside_an_open_call(server);
}

#[test]
fn recording_without_times_of_ends_is_replayed_as_before() {
    let scene = slow_reader(&chat("B"));
    change_entries(&scene, |_, entry| drop(entry.as_object_mut().unwrap().remove("ended_at")));
    let server = scene.replay(&RECORDED);
    answers_beside_an_open_call(server);
}

#[test]
fn entry_says_when_its_answer_ended_if_another_call_was_open() {
    let (scene, ended_at) = (Scene::new(), |entry: &Value| entry["ended_at"].clone());
    record_alone(&scene, &[chat("A"), chat("B"), chat_streamed("C")]);
    assert!(scene.takes().iter().all(|(_, entry)| ended_at(entry).is_null()), "{}", scene.text());
    let scene = Scene::new();
    record_at_once(&scene, &["A", "B", "C"], &[2, 0, 1]);
    let mut takes: Vec<Value> = scene.takes().into_iter().map(|(_, entry)| entry).collect();
    takes.sort_by_key(|entry| ended_at(entry).as_str().unwrap().to_owned());
    assert_eq!(takes.iter().map(prompt_of).collect::<Vec<_>>(), ["C", "A", "B"]);
    let arrived = |entry: &Value| entry["recorded_at"].as_str().unwrap().to_owned();
    let first_end = ended_at(&takes[0]).as_str().unwrap().to_owned();
    assert!(takes.iter().all(|entry| arrived(entry) < first_end));
}

#[test]
fn call_that_never_comes_does_not_hold_others() {
    let scene = slow_reader(&chat("B"));
    let server = scene.replay(&RECORDED);
    let began = Instant::now();
    server.call(&chat("B")).expect(200);
    assert!(began.elapsed() < LONGEST_WAIT / 2, "{:?}", began.elapsed());
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains(OUT_OF_ORDER), "{}", ended.stderr);
}

#[test]
fn answer_waits_for_the_next_call_of_a_program_whose_answer_had_ended_first() {
    let scene = Scene::new();
    record_alone(&scene, &[chat("A"), chat("A, with the result of its tool"), chat("B")]);
    set_times(
        &scene,
        &[("A", 0.0, 100.0), ("A, with the result of its tool", 250.0, 400.0), ("B", 10.0, 900.0)],
    );
    let server = scene.replay(&RECORDED);
    let mut b = server.connect();
    b.send(&chat("B"));
    server.call(&chat("A")).expect(200);
    // The program runs its tool.
    assert!(b.is_quiet_for(LOOK));
    server.call(&chat("A, with the result of its tool")).expect(200);
    b.answer().unwrap().expect(200);
    server.stop().expect(0);
}

#[test]
fn chunks_of_a_stream_come_as_far_as_they_came_before_the_other_end() {
    let scene = slow_reader(&chat_streamed("B"));
    change_entries(&scene, |prompt, entry| {
        let chunks = entry["response"].get_mut("chunks").and_then(Value::as_array_mut);
        for (at, chunk) in chunks.into_iter().flatten().enumerate() {
            assert_eq!(prompt, "B");
            chunk[0] = json!(if at < 2 { 300.0 } else { 600.0 + at as f64 });
        }
    });
    let server = scene.replay(&RECORDED);
    let (a, mut b) = (open_a(&server), server.connect());
    b.send(&chat_streamed("B"));
    b.head();
    let begun = [b.chunk().unwrap(), b.chunk().unwrap()].concat();
    assert!(String::from_utf8_lossy(&begun).contains("one "));
    assert!(b.is_quiet_for(LOOK), "what came after the end of A waits for it");
    drop(a);
    let rest: Vec<u8> = std::iter::from_fn(|| b.chunk()).flatten().collect();
    let all = String::from_utf8([begun, rest].concat()).unwrap();
    assert_eq!(all, chat_events(&["one ", "two"]).concat());
    server.stop().expect(0);
}

#[test]
fn calls_with_a_fault_are_not_in_the_order() {
    let scene = Scene::new();
    record_alone(&scene, &[chat_streamed("A"), chat("B")]);
    set_times(&scene, &[("A", 0.0, 500.0), ("B", 10.0, 900.0)]);
    change_entries(&scene, |prompt, entry| {
        if prompt == "A" {
            entry["fault"] = json!({"type": "stream_stall", "after_events": 1});
        }
    });
    let server = scene.replay(&RECORDED);
    let mut a = server.connect();
    a.send(&chat_streamed("A"));
    a.head();
    a.chunk().unwrap();
    let began = Instant::now();
    server.call(&chat("B")).expect(200);
    assert!(began.elapsed() < LONGEST_WAIT / 2, "{:?}", began.elapsed());
    assert!(a.is_quiet_for(LOOK), "the fault goes on");
}

#[test]
fn recorded_client_that_left_is_waited_for_by_none() {
    let scene = slow_reader(&chat("B"));
    change_entries(&scene, |prompt, entry| {
        if prompt == "A" {
            entry["client_left"] = json!({"ms": 499.0, "bytes": 9 << 20});
        }
    });
    let server = scene.replay(&RECORDED);
    let (_a, began) = (open_a(&server), Instant::now());
    server.call(&chat("B")).expect(200);
    assert!(began.elapsed() < LONGEST_WAIT / 2, "{:?}", began.elapsed());
}
