//! Tests of collectors that are down, slow or hostile, and of invalid variables.

use std::time::{Duration, Instant};

use super::{chat, start, upstream};
use crate::support::gate::PATIENCE;
use crate::support::loomrec::{command, finish};
use crate::support::{Answer, Call, Gate, Scene, Server, Upstream};

/// Longer than the end of a run may take for its traces, on a busy machine.
const LONG: Duration = Duration::from_secs(20);

#[track_caller]
fn health(server: &Server) -> serde_json::Value {
    let call = Call::get("/__loomrec/health").header("host: localhost");
    server.call(&call).expect(200).json()
}

/// Replays some calls with these variables; returns the output of the run.
#[track_caller]
fn replayed(variables: &[(&str, &str)]) -> String {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    let server = start(&scene, &scene.replay_args(&["--repeat", "last"]), variables);
    for _ in 0..5 {
        server.call(&chat("hi")).expect(200);
    }
    let began = Instant::now();
    let ended = server.stop().expect(0);
    assert!(began.elapsed() < LONG, "the end took {:?}", began.elapsed());
    ended.stderr
}

#[track_caller]
fn says_once(said: &str, lost: &str) {
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("traces")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains(lost), "{said}");
}

/// The protocols of this build.
fn protocols() -> impl Iterator<Item = &'static str> {
    ["http/protobuf"].into_iter().chain(cfg!(feature = "otel-grpc").then_some("grpc"))
}

#[cfg(not(feature = "otel-grpc"))]
#[test]
fn build_without_grpc_says_what_to_do() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    let args = scene.replay_args(&["--otel", "--", "true"]);
    let mut command = command(scene.dir(), &args);
    finish(command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), b"").expect(2).says(&[
        "built without gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf",
        "cargo install loomrec --features otel-grpc",
    ]);
}

#[test]
fn calls_are_answered_and_the_end_comes_when_there_is_no_collector() {
    // No process listens there: the port has just been freed.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for protocol in protocols() {
        let said = replayed(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ]);
        says_once(&said, "the traces are not whole: 5 of 5 spans did not reach the collector");
    }
}

#[test]
fn calls_are_answered_and_the_end_comes_when_the_collector_never_answers() {
    let gate = Gate::new();
    let rest = gate.clone();
    let silent = Upstream::start(move |_| Answer::default().wait(&rest));
    for protocol in protocols() {
        let said = replayed(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &silent.url()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_BSP_EXPORT_TIMEOUT", "300"),
        ]);
        says_once(&said, "the traces are not whole: 5 of 5 spans");
    }
    gate.open();
}

#[test]
fn calls_are_answered_when_the_collector_fails_or_talks_nonsense() {
    for (answer, lost) in [
        (Answer::json(500, "{}"), "5 of 5 spans did not reach the collector: HTTP export failed"),
        (Answer::whole(302, &["location: http://127.0.0.1:9/"], ""), "5 of 5 spans"),
        (Answer::raw("hello\r\n\r\n").close(), "5 of 5 spans"),
        (Answer::raw("").reset(), "5 of 5 spans"),
    ] {
        let hostile = Upstream::always(answer);
        let said = replayed(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &hostile.url())]);
        says_once(&said, lost);
    }
}

#[test]
fn calls_are_answered_when_the_collector_speaks_no_tls() {
    let plain = Upstream::always(Answer::json(200, "{}"));
    let url = plain.url().replace("http://", "https://");
    for protocol in protocols() {
        let said = replayed(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_BSP_EXPORT_TIMEOUT", "1000"),
        ]);
        says_once(&said, "5 of 5 spans");
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let gate = Gate::new();
    let rest = gate.clone();
    let silent = Upstream::start(move |_| Answer::default().wait(&rest));
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*silent.url()),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "1"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "60000"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
    ];
    let server = start(&scene, &scene.replay_args(&["--repeat", "last"]), &variables);
    server.call(&chat("hi")).expect(200);
    silent.wait_for(1);
    // One is being sent, one waits, and there is no room for the others.
    for _ in 0..4 {
        server.call(&chat("hi")).expect(200);
    }
    let until = Instant::now() + PATIENCE;
    let told = loop {
        let told = health(&server)["traces"].clone();
        if told["lost"].as_u64().unwrap() >= 3 {
            break told;
        }
        assert!(Instant::now() < until, "{told}");
    };
    assert_eq!(told["sent"], 0, "{told}");
    let metrics = server.call(&Call::get("/metrics").header("host: localhost")).expect(200).text();
    let lost = metrics.lines().find_map(|line| line.strip_prefix("loomrec_spans_lost_total "));
    assert!(lost.unwrap().parse::<u64>().unwrap() >= 3, "{metrics}");
    gate.open();
    server.process.signal("KILL");
}

#[test]
fn run_without_traces_says_nothing_of_them() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    let server = scene.replay(&[]);
    assert_eq!(health(&server)["traces"], serde_json::Value::Null);
    server.call(&chat("hi")).expect(200);
    let said = server.stop().expect(0).stderr;
    assert!(!said.contains("traces"), "{said}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_listens() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi")]);
    for (name, value, hint) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "thrift", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "missing.pem", "missing.pem"),
        ("OTEL_TRACES_EXPORTER", "jaeger", "otlp, or none"),
    ] {
        let args = scene.replay_args(&["--otel", "--listen", "127.0.0.1:0", "--", "true"]);
        let mut command = command(scene.dir(), &args);
        let ended = finish(command.env(name, value), b"").expect(2).says(&[hint]);
        assert!(!ended.stderr.contains("listening"), "{}", ended.stderr);
    }
    // Its own listener is not a collector.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let args = scene.replay_args(&["--otel", "--listen", &free.to_string(), "--", "true"]);
    let mut command = command(scene.dir(), &args);
    let own = format!("http://localhost:{}", free.port());
    finish(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", own), b"")
        .expect(2)
        .says(&["where loomrec itself listens"]);
}
