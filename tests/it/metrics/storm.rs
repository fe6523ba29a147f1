//! Tests that metrics, journal, receipt and health agree after a storm of calls, of which many are
//! cut short.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{receipt, scraped, sum, upstream};
use crate::stats::answer;
use crate::support::chance::Chance;
use crate::support::gate::PATIENCE;
use crate::support::shape::{CHAT, chat, chat_streamed, message};
use crate::support::{Call, Client, End, Scene, Server, Upstream};

/// Clients at once.
const CLIENTS: usize = 8;
/// Calls of each client.
const CALLS: usize = 250;

/// How late each answer is, in milliseconds: longer than it takes a busy system to say that a
/// client has left.
const LATE: &str = "150";

/// The statuses of the answers that a client got in full.
#[derive(Default)]
struct Saw {
    answered: Vec<u16>,
}

/// The calls of one client.
fn client(address: SocketAddr, mut chance: Chance) -> Saw {
    let mut saw = Saw::default();
    let mut kept: Option<Client> = None;
    for number in 0..CALLS {
        let mut client = kept.take().unwrap_or_else(|| Client::connect(address));
        let call = call(&mut chance, number);
        match chance.below(10) {
            // Leaves before there is an answer, or during it.
            0 => client.send(&call),
            1 => {
                client.send(&call);
                client.begins();
            }
            // Leaves in the middle of its own request.
            2 => {
                client.write(format!(
                    "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4000\r\n\r\n{{\"mod"
                ));
            }
            // Sends two at once, and waits for neither.
            3 => {
                client.send(&call);
                client.send(&chat("hi"));
            }
            _ => {
                client.send(&call);
                if let Ok(answer) = client.answer() {
                    let stays = answer.end == End::Complete;
                    saw.answered.push(answer.status);
                    let closes = answer.header("connection") == Some("close");
                    kept = (stays && !closes).then_some(client);
                }
            }
        }
    }
    saw
}

/// A call of a random kind.
fn call(chance: &mut Chance, number: usize) -> Call {
    let fault = |fault: &str| chat("hi").header(&format!("x-loomrec-fault: {fault}"));
    match chance.below(16) {
        0..4 => chat("hi"),
        4..6 => chat_streamed("hi"),
        6 => message("hi").header("x-loomrec-step-id: greet"),
        7 => chat(&format!("nobody knows {number}")),
        8 => Call::new("HEAD", "/openai/v1/models"),
        9 => fault("http_error:503"),
        10 => fault(["connection_reset", "connection_drop", "drop"][number % 3]),
        11 => fault("slow:20"),
        12 => chat_streamed("hi").header("x-loomrec-fault: stream_truncate:after_chunks=1"),
        13 => chat(&"too long ".repeat(3_000)),
        14 => [chat("hi"), Call::get("/openai/v1/responses")][number % 2]
            .clone()
            .header("connection: upgrade")
            .header("upgrade: websocket"),
        _ => [Call::new("CONNECT", "example.com:443"), Call::post("/nowhere/v1", "{}")][number % 2]
            .clone(),
    }
}

/// Runs all clients at once; returns the answers that came in full.
fn storm(server: &Server) -> Vec<u16> {
    let (address, mut chance) = (server.address, Chance::new());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let chance = chance.fork();
            std::thread::spawn(move || client(address, chance))
        })
        .collect();
    clients.into_iter().flat_map(|client| client.join().unwrap().answered).collect()
}

fn health(server: &Server) -> Value {
    server.call(&Call::get("/__loomrec/health").header("host: localhost")).expect(200).json()
}

/// Waits until no call is open: the number of journal records does not change for a while.
fn settle(server: &Server) {
    let until = Instant::now() + PATIENCE;
    let (mut last, mut since) = (Value::Null, Instant::now());
    while since.elapsed() < Duration::from_millis(700) {
        let now = health(server)["journal"]["lines"].clone();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(Instant::now() < until, "calls go on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Leaves before the answer until the journal says so. A system with very many connections takes
/// long to say that a client has left: the answer may be there first, each time.
fn leave_until_it_is_told(scene: &Scene, server: &Server) {
    let until = Instant::now() + PATIENCE;
    let journal = scene.path("run.jsonl");
    while !std::fs::read_to_string(&journal).unwrap().contains("\"outcome\":\"left\"") {
        assert!(Instant::now() < until, "no call was left");
        Client::connect(server.address).send(&chat("hi"));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Checks that all four agree for a run that exited with this code.
#[track_caller]
fn agree(scene: &Scene, server: Server, saw: &[u16], code: i32) {
    settle(&server);
    leave_until_it_is_told(scene, &server);
    settle(&server);
    let (told, health) = (scraped(&server, 1.0), health(&server));
    server.stop().expect(code);
    let receipt = receipt(scene);
    let text = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=lines.len() as u64), "a line is missing or twice");
    assert_eq!(health["journal"]["lines"], lines.len());
    let calls: Vec<&Value> = lines.iter().filter(|line| !line["method"].is_null()).collect();
    let count = |is: &dyn Fn(&Value) -> bool| calls.iter().filter(|line| is(line)).count() as f64;
    let number = |pointer: &str| receipt.pointer(pointer).and_then(Value::as_f64);
    let outcome = |outcome: &str| count(&|line| line["outcome"] == outcome);
    let by = |by: &str| count(&|line| line["matched_by"] == by);
    let sums = |field: &str| calls.iter().filter_map(|line| line[field].as_f64()).sum::<f64>();

    assert_eq!(sum(&told, "loomrec_requests_total"), calls.len() as f64);
    by_source(&told, &calls);
    let served = by("request_hash") + by("step_id");
    for (what, receipt, lines) in [
        ("served", number("/served"), served),
        ("recorded", number("/recorded"), count(&|line| line["kept"] == true)),
        ("missed", number("/missed"), outcome("missed")),
        ("refused", number("/refused"), outcome("refused")),
        ("upgrades", number("/refused_upgrades"), outcome("upgrade_refused")),
        ("faulted", number("/faulted"), outcome("faulted")),
        ("input", number("/tokens/input"), sums("input_tokens")),
        ("output", number("/tokens/output"), sums("output_tokens")),
    ] {
        assert_eq!(receipt, Some(lines), "{what}: {receipt:?} {lines}");
    }
    for (what, told, lines) in [
        ("replays", sum(&told, "loomrec_replays_total"), served),
        ("missed", sum(&told, "loomrec_mismatches_total"), outcome("missed")),
        ("captures", sum(&told, "loomrec_captures_total"), count(&|line| line["kept"] == true)),
        ("health: served", health["served"].as_f64().unwrap(), served),
        ("health: missed", health["missed"].as_f64().unwrap(), outcome("missed")),
        (
            "tokens",
            sum(&told, "loomrec_tokens_total"),
            sums("input_tokens") + sums("output_tokens"),
        ),
        (
            "overhead",
            told["loomrec_request_overhead_seconds_count"],
            count(&|line| !line["status"].is_null() && line["fault"].is_null()),
        ),
        ("open", told["loomrec_streams_open"], 0.0),
    ] {
        assert_eq!(told, lines, "{what}");
    }
    has_what_was_seen(&calls, saw);
}

/// Checks the calls by source and status.
#[track_caller]
fn by_source(told: &BTreeMap<String, f64>, calls: &[&Value]) {
    let count = |is: &dyn Fn(&Value) -> bool| calls.iter().filter(|line| is(line)).count() as f64;
    for (labels, value) in told.iter().filter(|(key, _)| key.starts_with("loomrec_requests_")) {
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0
        };
        let lines = count(&|line| {
            let status = line["status"].as_u64().map_or("none".to_owned(), |s| s.to_string());
            line["source"].as_str().unwrap_or("loomrec") == label("source")
                && status == label("status")
        });
        assert_eq!(*value, lines, "{labels}");
    }
}

/// Checks that the journal has what clients have seen, and that there was enough traffic.
#[track_caller]
fn has_what_was_seen(calls: &[&Value], saw: &[u16]) {
    let count = |is: &dyn Fn(&Value) -> bool| calls.iter().filter(|line| is(line)).count() as f64;
    // Each answer that a client got in full has a journal record.
    for status in [200, 404, 413, 422, 426, 501, 503] {
        let seen = saw.iter().filter(|other| **other == status).count() as f64;
        let lines = count(&|line| line["status"] == status);
        assert!(lines >= seen, "{status}: {seen} seen, {lines} lines");
    }
    assert!(saw.len() > 500, "{}", saw.len());
    let replayed = calls[0]["mode"] == "replay";
    let answered = if replayed { "missed" } else { "recorded" };
    for outcome in [answered, "refused", "upgrade_refused", "faulted", "left"] {
        assert!(count(&|line| line["outcome"] == outcome) > 0.0, "no call was {outcome}");
    }
    assert!(count(&|line| line["end"] == "client_left") > 0.0);
}

#[test]
fn all_count_the_same_when_a_storm_is_replayed() {
    let (scene, upstream) = (Scene::new(), upstream());
    let greet = message("hi").header("x-loomrec-step-id: greet");
    scene.recorded(&upstream, &[chat("hi"), chat_streamed("hi"), greet]);
    let flags = ["--repeat", "cycle", "--receipt", "receipt.json", "--journal", "run.jsonl"];
    let late = format!("constant:{LATE}");
    let slow = ["--latency", &late, "--max-body", "8192"];
    let server = scene.replay(&[&flags[..], &slow].concat());
    let saw = storm(&server);
    agree(&scene, server, &saw, 1);
}

#[test]
fn all_count_the_same_when_a_storm_is_recorded() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| answer(request).late(LATE.parse().unwrap()));
    let flags = ["--receipt", "receipt.json", "--journal", "run.jsonl", "--max-body", "8192"];
    let server = scene.record(&upstream, &flags);
    let saw = storm(&server);
    agree(&scene, server, &saw, 0);
}
