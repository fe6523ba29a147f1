//! Debian's own Prometheus: what it makes of the metrics of a run.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use super::{agree, calls, get, of_model, receipt, scraped, sum, upstream};
use crate::support::chance::skipped;
use crate::support::gate::PATIENCE;
use crate::support::loomrec::{Process, finish};
use crate::support::shape::chat;
use crate::support::{Call, Client, Scene};

/// A program of the package, where `tests/prometheus/install` has put it.
fn program(name: &str, test: &str) -> Option<PathBuf> {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/prometheus/root/usr/bin");
    let path = bin.join(name);
    if !path.is_file() {
        skipped(test, "Prometheus is not there: tests/prometheus/install");
        return None;
    }
    Some(path)
}

#[test]
fn promtool_finds_nothing_wrong_when_labels_are_hostile() {
    let test = "promtool_finds_nothing_wrong_when_labels_are_hostile";
    let Some(promtool) = program("promtool", test) else { return };
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--metrics-compat", "--chaos-rate-limit", "0.5"]);
    let long = "長".repeat(500);
    let names =
        ["a\"b\\c\nd", "日本語 🤖", "\u{1b}[2J\r\0", "other", "", "{a=\"b\"} 1\n# x", &long];
    names.iter().for_each(|name| drop(server.call(&of_model(name))));
    calls().iter().for_each(|call| drop(server.call(call)));
    scraped(&server, 12.0);
    let text = get(&server, "/metrics", &[]).expect(200).text();
    server.stop();
    assert!(!text.contains(['\u{1b}', '\0', '\r']), "{text}");
    let mut check = std::process::Command::new(promtool);
    let checked = finish(check.args(["check", "metrics"]), text.as_bytes()).expect(0);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("", ""), "{text}");
}

/// The sum that a query gives; nothing is none.
fn asked(prometheus: std::net::SocketAddr, query: &str) -> Option<f64> {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let mut client = Client::try_connect(prometheus)?;
    let answer = client.exchange(&Call::get(&format!("/api/v1/query?query={query}")));
    answer.json().pointer("/data/result/0/value/1")?.as_str()?.parse().ok()
}

#[test]
fn prometheus_tells_what_the_receipt_tells() {
    let test = "prometheus_tells_what_the_receipt_tells";
    let Some(program) = program("prometheus", test) else { return };
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &calls());
    let server = scene.replay(&["--receipt", "receipt.json", "--control-token", "s3cret"]);
    let config = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\n\
         scrape_configs:\n\
         - job_name: loomrec\n  authorization: {{credentials: s3cret}}\n  \
         static_configs: [{{targets: ['{}']}}]\n",
        server.address
    );
    std::fs::write(scene.path("prometheus.yml"), config).unwrap();
    // A port that is free now; nobody else on this machine draws it so soon.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = std::process::Command::new(program);
    // In a group of its own, as which it is ended.
    command.process_group(0).current_dir(scene.dir()).stdin(Stdio::null()).args([
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        &format!("--web.listen-address={free}"),
    ]);
    let prometheus = Process::spawn(&mut command);
    calls().iter().for_each(|call| drop(server.call(call)));
    server.call(&chat("nobody knows")).expect(422);
    let token = ["x-loomrec-token: s3cret"];
    let until = Instant::now() + PATIENCE;
    while asked(free, "sum(loomrec_requests_total)") != Some(6.0) {
        assert!(Instant::now() < until, "{}", prometheus.stderr());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let told = super::series(&get(&server, "/metrics", &token).expect(200).text());
    for name in [
        "loomrec_requests_total",
        "loomrec_replays_total",
        "loomrec_mismatches_total",
        "loomrec_tokens_total",
        "loomrec_cost_usd_total",
        "loomrec_streams_ended_total",
        "loomrec_request_overhead_seconds_count",
        "loomrec_recording_entries",
        "loomrec_build_info",
    ] {
        assert_eq!(asked(free, &format!("sum({name})")), Some(sum(&told, name)), "{name}");
    }
    let served = "sum(loomrec_requests_total{source=\"recording\"})";
    let p95 = "histogram_quantile(0.95, sum by (le) (loomrec_request_overhead_seconds_bucket))";
    assert!(asked(free, p95).is_some_and(|p95| p95 > 0.0));
    let served = asked(free, served);
    drop(prometheus);
    server.stop();
    let receipt = receipt(&scene);
    assert_eq!(served, receipt["served"].as_f64());
    agree(&told, &receipt);
}
