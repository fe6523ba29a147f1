//! Tests of `/metrics`: what scrapers get, and what they must not be able to do.

mod dashboard;
mod expression;
mod prometheus;
mod storm;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stats::{calls, upstream};
use crate::support::chance::rounds;
use crate::support::gate::PATIENCE;
use crate::support::shape::{chat, chat_streamed, message};
use crate::support::{Call, Response, Scene, Server};

fn get(server: &Server, path: &str, more: &[&str]) -> Response {
    let call = Call::get(path).header("host: localhost");
    server.call(&more.iter().fold(call, |call, line| call.header(line)))
}

/// The series in the older text format, by name and labels.
#[track_caller]
fn series(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let one = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    let all: Vec<(String, f64)> = lines.map(one).collect();
    let map: BTreeMap<String, f64> = all.iter().cloned().collect();
    assert_eq!(map.len(), all.len(), "a series stands twice in {text}");
    map
}

/// The sum over all series of a name.
fn sum(series: &BTreeMap<String, f64>, name: &str) -> f64 {
    let of = |key: &str| key == name || key.starts_with(&format!("{name}{{"));
    series.iter().filter(|(key, _)| of(key)).map(|(_, value)| value).sum()
}

/// The metrics once this many calls are over. A call is over when its answer has been sent.
#[track_caller]
fn scraped(server: &Server, calls: f64) -> BTreeMap<String, f64> {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = get(server, "/metrics", &[]).expect(200).text();
        let told = series(&text);
        if sum(&told, "loomrec_requests_total") >= calls {
            return told;
        }
        assert!(Instant::now() < until, "{calls} calls are not over: {text}");
    }
}

fn receipt(scene: &Scene) -> Value {
    serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap()
}

/// Compares scraped metrics with the receipt.
#[track_caller]
fn agree(told: &BTreeMap<String, f64>, receipt: &Value) {
    let number = |pointer: &str| receipt.pointer(pointer).and_then(Value::as_f64).unwrap();
    let requests = |source: &str| {
        let of = told.iter().filter(|(key, _)| {
            key.starts_with("loomrec_requests_total{")
                && key.contains(&format!("source=\"{source}\""))
        });
        of.map(|(_, value)| value).sum::<f64>()
    };
    for (what, told, expected) in [
        ("recorded", sum(told, "loomrec_captures_total"), number("/recorded")),
        ("served", requests("recording"), number("/served")),
        ("missed", sum(told, "loomrec_mismatches_total"), number("/missed")),
        ("faulted", requests("fault"), number("/faulted")),
        (
            "tokens",
            sum(told, "loomrec_tokens_total"),
            number("/tokens/input") + number("/tokens/output"),
        ),
        ("lost", sum(told, "loomrec_lost_total"), number("/not_kept")),
    ] {
        assert_eq!(told, expected, "{what}");
    }
    let cost = sum(told, "loomrec_cost_usd_total");
    assert!((cost - number("/cost_usd")).abs() < 1e-6, "{cost}");
    for (reason, count) in receipt["missed_by_reason"].as_object().unwrap() {
        let key = format!("loomrec_mismatches_total{{reason=\"{reason}\"}}");
        assert_eq!(told[&key], count.as_f64().unwrap());
    }
}

#[test]
fn what_was_spent_is_apart_from_what_was_saved() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("one"), chat("two")]);
    let server = scene.record(&upstream, &["--mode", "new_episodes"]);
    for prompt in ["one", "two", "three"] {
        server.call(&chat(prompt)).expect(200);
    }
    let told = scraped(&server, 3.0);
    let dollars = |how: &str| told[&format!("loomrec_cost_usd_total{{how=\"{how}\"}}")];
    let (spent, saved) = (dollars("spent"), dollars("saved"));
    assert!(spent > 0.0 && (saved - 2.0 * spent).abs() < 1e-9, "{spent} {saved}");
    server.stop().expect(0);
}

#[test]
fn numbers_are_the_receipts_when_recording_and_when_replaying() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--receipt", "receipt.json"]);
    calls().iter().for_each(|call| drop(server.call(call)));
    let told = scraped(&server, 5.0);
    server.stop().expect(0);
    agree(&told, &receipt(&scene));
    let openai = "provider=\"openai\",model=\"gpt-4o-mini\"";
    assert_eq!(told[&format!("loomrec_captures_total{{{openai}}}")], 4.0);
    assert_eq!(told[&format!("loomrec_upstream_latency_seconds_count{{{openai}}}")], 4.0);
    assert_eq!(told[&format!("loomrec_upstream_first_byte_seconds_count{{{openai}}}")], 4.0);
    let limited = "loomrec_requests_total{mode=\"record\",source=\"upstream\",status=\"429\"}";
    assert_eq!(told[limited], 1.0);
    assert_eq!(told["loomrec_store_append_seconds_count"], 5.0);
    assert_eq!(told["loomrec_streams_ended_total{how=\"complete\"}"], 1.0);
    assert_eq!(told["loomrec_recording_entries"], 5.0);

    let faults = ["--receipt", "receipt.json", "--fault", "greet=http_error:503"];
    let server = scene.replay(&faults);
    calls().iter().for_each(|call| drop(server.call(call)));
    // The fault is over and the take is still unused; then there is none left.
    [message("hi").header("x-loomrec-step-id: greet"), chat("hi"), chat("other")]
        .iter()
        .for_each(|call| drop(server.call(call)));
    let told = scraped(&server, 8.0);
    server.stop();
    let receipt = receipt(&scene);
    agree(&told, &receipt);
    assert_eq!(receipt["missed_by_reason"], json!({ "exhausted": 1, "unknown request": 1 }));
    assert_eq!(told["loomrec_replays_total{matched_by=\"request_hash\"}"], 4.0);
    assert_eq!(told["loomrec_faults_total{type=\"http_error\",source=\"flag\"}"], 2.0);
    let missed = "loomrec_requests_total{mode=\"replay\",source=\"loomrec\",status=\"422\"}";
    assert_eq!(told[missed], 2.0);
}

#[test]
fn chaos_is_told_in_our_words_and_in_aimocks() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi"), chat_streamed("hi")]);
    let server = scene.replay(&["--metrics-compat", "--chaos", "1=rate_limit"]);
    server.call(&chat("hi").header("x-aimock-chaos-drop: 1")).expect(500);
    server.call(&chat("hi")).expect(429);
    server.call(&chat("nobody knows")).expect(429);
    let told = scraped(&server, 3.0);
    server.stop();
    for series in [
        "loomrec_chaos_triggered_total{action=\"drop\",source=\"header\"}",
        "aimock_chaos_triggered_total{action=\"drop\",source=\"fixture\"}",
        "aimock_chaos_triggered_total{action=\"rateLimit\",source=\"fixture\"}",
        "aimock_chaos_triggered_total{action=\"rateLimit\",source=\"internal\"}",
        "aimock_requests_total{method=\"POST\",path=\"/v1/chat/completions\",status=\"500\"}",
    ] {
        assert_eq!(told.get(series), Some(&1.0), "{series} in {told:?}");
    }
    assert_eq!(told["loomrec_chaos_triggered_total{action=\"rate_limit\",source=\"plan\"}"], 2.0);
    let took =
        "aimock_request_duration_seconds_count{method=\"POST\",path=\"/v1/chat/completions\"}";
    assert_eq!(told[took], 3.0);
    let replays = "agentloom_mock_replays_total{workflow=\"run\",matched_by=\"default\"}";
    assert_eq!(told[replays], 0.0);
}

/// A call for a model of this name.
fn of_model(name: &str) -> Call {
    let body = json!({ "model": name, "messages": [{ "role": "user", "content": "hi" }] });
    Call::post("/openai/v1/chat/completions", body.to_string())
}

#[test]
fn series_are_bounded_when_every_call_names_another_model() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    for number in 0..400 {
        client.exchange(&of_model(&format!("model {number}"))).expect(200);
    }
    let told = scraped(&server, 400.0);
    server.stop().expect(0);
    let models = told.keys().filter(|key| key.starts_with("loomrec_captures_total{")).count();
    assert_eq!(models, 101);
    assert_eq!(told["loomrec_captures_total{provider=\"openai\",model=\"other\"}"], 300.0);
    assert!(told.len() < 6_000, "{}", told.len());
}

/// The memory of a process in kibibytes.
fn resident(server: &Server) -> u64 {
    let path = format!("/proc/{}/status", server.process.pid());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_is_bounded_when_every_call_names_another_model() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let place = format!("openai={}", upstream.url());
    let server = scene.replay(&["--metrics-compat", "--on-miss", "forward", "--upstream", &place]);
    let mut client = server.connect();
    let mut calls = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            let name = format!("model {number} {}", "x".repeat(100));
            client.exchange(&of_model(&name)).expect(200);
        }
    };
    // The journal in memory is full after this.
    calls(0..2_000);
    let (before, all) = (resident(&server), rounds(5_000, 40_000));
    calls(2_000..all);
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 16 << 10, "{grown} KiB more");
    let told = scraped(&server, all as f64);
    assert_eq!(sum(&told, "loomrec_upstream_latency_seconds_count"), all as f64);
    server.stop();
}

#[test]
fn only_who_may_use_the_control_paths_may_scrape() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&[]);
    for path in ["/metrics", "/__loomrec/metrics"] {
        server.call(&Call::get(path).header("host: other.example")).expect(403);
        let page = get(&server, path, &["origin: https://evil.example"]).expect(403);
        assert!(!page.text().contains("loomrec_build_info"));
        let plain = get(&server, path, &[]).expect(200);
        assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        let open = get(&server, path, &["accept: application/openmetrics-text"]).expect(200);
        assert!(open.text().ends_with("# EOF\n"));
        let head = server.call(&Call::new("HEAD", path).header("host: localhost")).expect(200);
        assert_eq!(head.text(), "");
    }
    server.stop().expect(0);
    let server = scene.replay(&["--control-token", "s3cret"]);
    for (header, status) in [
        ("authorization: Bearer s3cret", 200),
        ("x-loomrec-token: s3cret", 200),
        ("authorization: Bearer other", 403),
        ("authorization: Basic s3cret", 403),
        ("accept: */*", 403),
    ] {
        get(&server, "/metrics", &[header]).expect(status);
    }
    server.stop().expect(0);
}

#[test]
fn traffic_goes_on_when_scrapers_hang() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let hang = |text: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let whole = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let many = whole.repeat(200);
    let hung: Vec<TcpStream> = (0..60)
        .map(|number| hang([&*many, whole, "GET /metrics HTTP/1.1\r\nhost: loc"][number % 3]))
        .collect();
    let began = Instant::now();
    (0..50).for_each(|_| drop(server.call(&chat("hi")).expect(200)));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    scraped(&server, 50.0);
    drop(hung);
    server.stop().expect(0);
}
