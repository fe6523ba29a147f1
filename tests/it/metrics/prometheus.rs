//! Tests with Debian's own Prometheus and a run's metrics.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{agree, calls, get, of_model, receipt, scraped, sum, upstream};
use crate::support::chance::skipped;
use crate::support::gate::PATIENCE;
use crate::support::loomrec::{Process, finish};
use crate::support::shape::{chat, message};
use crate::support::{Call, Client, Scene, Server};

/// A program of the package, in the folder of `tests/prometheus/install`. Only on a developer's own
/// machine may it be missing.
#[track_caller]
pub(super) fn program(name: &str, test: &str) -> Option<PathBuf> {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/prometheus/root/usr/bin");
    let path = bin.join(name);
    if !path.is_file() {
        let ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
        assert!(!ci, "{name} is not there: tests/prometheus/install");
        skipped(test, "Prometheus is not there: tests/prometheus/install");
        return None;
    }
    Some(path)
}

/// Checks a scrape with `promtool`.
#[track_caller]
pub(super) fn check_metrics(promtool: &Path, text: &str) {
    let mut check = Command::new(promtool);
    let checked = finish(check.args(["check", "metrics"]), text.as_bytes()).expect(0);
    assert_eq!((checked.stdout.as_str(), checked.stderr.as_str()), ("", ""), "{text}");
}

/// A Prometheus for one test.
pub(super) struct Prometheus {
    process: Process,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts it with the scene's `prometheus.yml`.
    #[track_caller]
    pub(super) fn start(program: &Path, scene: &Scene) -> Self {
        let data = tempfile::TempDir::with_prefix_in("data-", scene.dir()).unwrap().keep();
        let mut command = Command::new(program);
        // In a separate process group, which is ended as a whole.
        command.process_group(0).current_dir(scene.dir()).stdin(Stdio::null()).args([
            "--config.file=prometheus.yml",
            &format!("--storage.tsdb.path={}", data.display()),
            "--web.listen-address=127.0.0.1:0",
        ]);
        let mut process = Process::spawn(&mut command);
        let listening = "msg=\"Listening on\" address=";
        let said = process.wait_for(listening);
        let address = said.split(listening).nth(1).unwrap().split_whitespace().next().unwrap();
        Self { process, address: address.parse().unwrap() }
    }

    /// The result of a query, or everything that was answered if it failed.
    pub(super) fn ask(&self, query: &str) -> Result<Vec<Value>, String> {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let mut client = Client::connect(self.address);
        let answer = client.exchange(&Call::get(&format!("/api/v1/query?query={query}")));
        let text = answer.text();
        // While it starts, it answers in plain text that it is not ready.
        let answer: Value = serde_json::from_str(&text).map_err(|_| text.clone())?;
        match answer["data"]["result"].as_array() {
            Some(result) if answer["status"] == "success" => Ok(result.clone()),
            _ => Err(text),
        }
    }

    /// The single value of a query; `None` if there is none.
    pub(super) fn value(&self, query: &str) -> Option<f64> {
        let result = self.ask(query).ok()?;
        result.first()?.pointer("/value/1")?.as_str()?.parse().ok()
    }

    /// Waits until a query returns this value.
    #[track_caller]
    pub(super) fn wait_for(&self, query: &str, expected: f64) {
        let until = Instant::now() + PATIENCE;
        while self.value(query) != Some(expected) {
            let said = self.process.stderr();
            assert!(Instant::now() < until, "{query}: {:?}\n{said}", self.ask(query));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn promtool_finds_nothing_wrong_when_labels_are_hostile() {
    let test = "promtool_finds_nothing_wrong_when_labels_are_hostile";
    let Some(promtool) = program("promtool", test) else { return };
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--metrics-compat", "--chaos", "0.5=rate_limit"]);
    let long = "長".repeat(500);
    let names =
        ["a\"b\\c\nd", "日本語 🤖", "\u{1b}[2J\r\0", "other", "", "{a=\"b\"} 1\n# x", &long];
    names.iter().for_each(|name| drop(server.call(&of_model(name))));
    calls().iter().for_each(|call| drop(server.call(call)));
    scraped(&server, 12.0);
    let text = get(&server, "/metrics", &[]).expect(200).text();
    server.stop();
    assert!(!text.contains(['\u{1b}', '\0', '\r']), "{text}");
    check_metrics(&promtool, &text);
}

#[test]
fn promtool_finds_nothing_wrong_whatever_a_run_does() {
    let test = "promtool_finds_nothing_wrong_whatever_a_run_does";
    let Some(promtool) = program("promtool", test) else { return };
    let (scene, upstream) = (Scene::new(), upstream());
    let check = |server: Server, calls: &[Call]| {
        check_metrics(&promtool, &get(&server, "/metrics", &[]).expect(200).text());
        calls.iter().for_each(|call| drop(server.call(call)));
        scraped(&server, calls.len() as f64);
        check_metrics(&promtool, &get(&server, "/metrics", &[]).expect(200).text());
        server.stop();
    };
    check(scene.record(&upstream, &[]), &calls());
    let missed = [calls(), vec![chat("nobody knows")]].concat();
    for more in [
        &["--metrics-compat"][..],
        &["--fault", "greet=http_error:503"],
        &["--chaos", "0.5=rate_limit", "--metrics-compat"],
        &["--on-miss", "default", "--repeat", "last"],
        &["--journal", "run.jsonl", "--log", "info"],
    ] {
        check(scene.replay(more), &missed);
    }
}

/// The sum over series as they were last scraped, because the run is over by now.
fn last(series: &str) -> String {
    format!("sum(last_over_time({series}[5m])) or vector(0)")
}

/// Queries for the numbers in the receipt, each with the receipt's value.
fn questions(receipt: &Value) -> Vec<(String, f64)> {
    let number = |pointer: &str| receipt.pointer(pointer).and_then(Value::as_f64).unwrap();
    let mut all: Vec<(String, f64)> = [
        ("loomrec_captures_total", number("/recorded")),
        ("loomrec_requests_total{source=\"recording\"}", number("/served")),
        ("loomrec_mismatches_total", number("/missed")),
        ("loomrec_requests_total{source=\"fault\"}", number("/faulted")),
        ("loomrec_tokens_total{kind=\"input\"}", number("/tokens/input")),
        ("loomrec_tokens_total{kind=\"output\"}", number("/tokens/output")),
        ("loomrec_lost_total", number("/not_kept")),
    ]
    .map(|(series, expected)| (last(series), expected))
    .into();
    for (reason, count) in receipt["missed_by_reason"].as_object().unwrap() {
        let series = format!("loomrec_mismatches_total{{reason=\"{reason}\"}}");
        all.push((last(&series), count.as_f64().unwrap()));
    }
    all
}

/// Makes Prometheus scrape a run of these calls, and compares its results with the receipt.
#[track_caller]
fn compare(program: &Path, scene: &Scene, server: Server, calls: &[Call]) {
    let config = format!(
        "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\n\
         scrape_configs:\n\
         - job_name: loomrec\n  authorization: {{credentials: s3cret}}\n  \
         static_configs: [{{targets: ['{}']}}]\n",
        server.address
    );
    std::fs::write(scene.path("prometheus.yml"), config).unwrap();
    let prometheus = Prometheus::start(program, scene);
    calls.iter().for_each(|call| drop(server.call(call)));
    prometheus.wait_for("sum(loomrec_requests_total)", calls.len() as f64);
    let token = ["x-loomrec-token: s3cret"];
    let told = super::series(&get(&server, "/metrics", &token).expect(200).text());
    let mut names: Vec<&str> =
        told.keys().map(|series| series.split('{').next().unwrap()).collect();
    names.dedup();
    // Buckets cannot be added up, because each includes those before it.
    for name in names.into_iter().filter(|name| !name.ends_with("_bucket")) {
        prometheus.wait_for(&format!("sum({name})"), sum(&told, name));
    }
    let p95 = "histogram_quantile(0.95, sum by (le) (loomrec_request_overhead_seconds_bucket))";
    let undisturbed = sum(&told, "loomrec_request_overhead_seconds_count") > 0.0;
    assert_eq!(prometheus.value(p95).is_some_and(|p95| p95 > 0.0), undisturbed);
    server.stop();
    let receipt = receipt(scene);
    agree(&told, &receipt);
    for (query, expected) in questions(&receipt) {
        assert_eq!(prometheus.value(&query), Some(expected), "{query}: {receipt:#}");
    }
    let cost = prometheus.value(&format!("sum({})", last("loomrec_cost_usd_total"))).unwrap();
    assert!((cost - receipt["cost_usd"].as_f64().unwrap()).abs() < 1e-6, "{cost}");
}

#[test]
fn prometheus_tells_what_the_receipt_tells() {
    let test = "prometheus_tells_what_the_receipt_tells";
    let Some(program) = program("prometheus", test) else { return };
    let (scene, upstream) = (Scene::new(), upstream());
    let receipt = ["--receipt", "receipt.json", "--control-token", "s3cret"];
    compare(&program, &scene, scene.record(&upstream, &receipt), &calls());
    let faulted = [&receipt[..], &["--fault", "greet=http_error:503", "--metrics-compat"]].concat();
    let more = vec![
        message("hi").header("x-loomrec-step-id: greet"),
        chat("hi"),
        chat("nobody knows"),
        chat("nor this"),
    ];
    compare(&program, &scene, scene.replay(&faulted), &[calls(), more].concat());
    let chaos = [&receipt[..], &["--chaos", "1=rate_limit"]].concat();
    compare(&program, &scene, scene.replay(&chaos), &calls());
}
