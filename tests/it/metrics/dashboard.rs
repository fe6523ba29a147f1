//! Tests of the dashboard and its recipe: every query only names what exists, and returns results
//! in a real run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use super::expression::{Exposed, Named, exposed};
use super::get;
use super::prometheus::{Prometheus, program};
use crate::support::loomrec::finish;
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// Panels that may be empty while a run goes on, and why.
const MAY_BE_EMPTY: [(&str, &str); 1] = [("Fold", "a log is folded when a run ends")];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn dashboard() -> String {
    read("docs/grafana/loomrec.json")
}

/// A query of the dashboard.
struct Query {
    /// The name of the panel or variable.
    place: String,
    expression: String,
    /// The labels that its results are named by.
    shown: BTreeSet<String>,
}

/// All queries of a dashboard.
#[track_caller]
fn queries(dashboard: &str) -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let braces = Regex::new(r"\{\{(\w+)\}\}").unwrap();
    let mut all = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let legend = text(&target["legendFormat"]);
            let shown = braces.captures_iter(&legend).map(|found| found[1].to_owned()).collect();
            let (place, expression) = (text(&panel["title"]), text(&target["expr"]));
            all.push(Query { place, expression, shown });
        }
    }
    let values = Regex::new(r"^label_values\((.*), (\w+)\)$").unwrap();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if variable["type"] == "query" {
            let query = text(&variable["query"]["query"]);
            let found = values.captures(&query).unwrap_or_else(|| panic!("{query}"));
            let shown = [found[2].to_owned()].into();
            let (place, expression) = (text(&variable["name"]), found[1].to_owned());
            all.push(Query { place, expression, shown });
        }
    }
    all
}

/// The names that a dashboard queries and that are not exposed.
fn wrong(dashboard: &str, exposed: &Exposed) -> Vec<String> {
    let mut wrong = Vec::new();
    for Query { place, expression, shown } in queries(dashboard) {
        let mut named = Named::of(&expression);
        named.groups.extend(shown);
        let missing = named.missing(exposed).into_iter();
        wrong.extend(missing.map(|missing| format!("{place}: {missing}: {expression}")));
    }
    wrong
}

fn upstream() -> Upstream {
    Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&["Hel", "lo."]))
        }
        _ => Answer::json(200, chat_answer("Hello.")),
    })
}

fn calls() -> Vec<Call> {
    vec![chat("hi"), chat_streamed("hi"), message("hi").header("x-loomrec-step-id: greet")]
}

/// Calls that are missed, get a fault, or get chaos that applies or does not.
fn troubles() -> Vec<Call> {
    vec![
        chat("nobody knows"),
        chat("hi").header("x-loomrec-fault: http_error:503"),
        chat("hi").header("x-aimock-chaos-drop: 1"),
        chat("hi").header("x-loomrec-chaos-fault: 1=stream_truncate:5000"),
    ]
}

/// A recording run, and a replay of an earlier recording.
fn runs(scene: &Scene, other: &Scene, upstream: &Upstream) -> [Server; 2] {
    let token = ["--control-token", "s3cret", "--journal", "run.jsonl"];
    other.recorded(upstream, &calls());
    let replay = [&token[..], &["--repeat", "last"]].concat();
    [scene.record(upstream, &token), other.replay(&replay)]
}

/// Makes one round of calls to both, and returns how many there are.
fn round([record, replay]: &[Server; 2]) -> usize {
    calls().iter().for_each(|call| drop(record.call(call)));
    let replayed = [calls(), troubles()].concat();
    replayed.iter().for_each(|call| drop(replay.call(call)));
    calls().len() + replayed.len()
}

fn scrape(servers: &[Server; 2]) -> Exposed {
    let text = |server: &Server| {
        get(server, "/metrics", &["authorization: Bearer s3cret"]).expect(200).text()
    };
    exposed(&servers.iter().map(text).collect::<String>())
}

#[test]
fn every_query_names_what_a_run_exposes_and_every_metric_is_shown() {
    let (scene, other, upstream) = (Scene::new(), Scene::new(), upstream());
    let servers = runs(&scene, &other, &upstream);
    round(&servers);
    let exposed = scrape(&servers);
    let dashboard = dashboard();
    assert_eq!(wrong(&dashboard, &exposed), [""; 0]);
    for (name, other, said) in [
        ("loomrec_lost_total", "loomrec_gone_total", "no metric loomrec_gone_total"),
        ("by (reason)", "by (cause)", "nothing to group by cause"),
        ("source=\\\"recording\\\"", "origin=\\\"recording\\\"", "has no label origin"),
        ("{{matched_by}}", "{{found_by}}", "nothing to group by found_by"),
        ("label_values(loomrec_build_info, job)", "label_values(up, job)", "no metric up"),
    ] {
        let mutated = dashboard.replace(name, other);
        assert_ne!(mutated, dashboard, "{name}");
        let wrong = wrong(&mutated, &exposed).join("\n");
        assert!(wrong.contains(said), "{name}: {wrong}");
    }
    let documented = Regex::new(r"(?m)^\| `(loomrec_\w+)`").unwrap();
    let page = read("docs/metrics.md");
    let documented = documented.captures_iter(&page).map(|found| found[1].to_owned());
    let documented: BTreeSet<String> = documented.collect();
    assert!(documented.len() > 15, "{documented:?}");
    for name in &documented {
        assert!(dashboard.contains(name.as_str()), "no panel shows {name}");
    }
    let ours = exposed.keys().map(|name| {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        base.unwrap_or(name).to_owned()
    });
    assert_eq!(ours.collect::<BTreeSet<String>>(), documented, "docs/metrics.md");
    servers.into_iter().for_each(|server| drop(server.stop()));
}

/// The recipe's own configuration for these runs.
fn write_config(scene: &Scene, servers: &[Server; 2]) {
    let token = scene.path("token");
    std::fs::write(&token, "s3cret").unwrap();
    let targets = servers.iter().map(|server| format!("\"{}\"", server.address));
    let targets = targets.collect::<Vec<_>>().join(", ");
    let mut config = read("docs/grafana/prometheus.yml");
    for (theirs, ours) in [
        ("/run/secrets/loomrec_token", token.to_str().unwrap()),
        ("\"host.docker.internal:4141\"", &targets),
        ("scrape_interval: 5s", "scrape_interval: 200ms"),
        ("scrape_timeout: 4s", "scrape_timeout: 200ms"),
    ] {
        assert!(config.contains(theirs), "{theirs} in {config}");
        config = config.replace(theirs, ours);
    }
    std::fs::write(scene.path("prometheus.yml"), config).unwrap();
}

#[test]
fn prometheus_answers_every_panel_with_what_the_runs_did() {
    let test = "prometheus_answers_every_panel_with_what_the_runs_did";
    let Some(program) = program("prometheus", test) else { return };
    let (scene, other, upstream) = (Scene::new(), Scene::new(), upstream());
    let servers = runs(&scene, &other, &upstream);
    write_config(&scene, &servers);
    let prometheus = Prometheus::start(&program, &scene);
    // A rate exists once something was counted between two scrapes.
    prometheus.wait_for("sum(up)", 2.0);
    let mut calls = round(&servers);
    prometheus.wait_for("sum(loomrec_requests_total)", calls as f64);
    calls += round(&servers);
    prometheus.wait_for("sum(loomrec_requests_total)", calls as f64);
    let variable = Regex::new(r#""\$\w+""#).unwrap();
    for Query { place, expression, .. } in queries(&dashboard()) {
        let asked = variable.replace_all(&expression, "\".*\"");
        let asked = asked.replace("$__rate_interval", "1m");
        assert!(!asked.contains('$'), "{asked}");
        let given = prometheus.ask(&asked).unwrap_or_else(|said| panic!("{asked}: {said}"));
        let told = given.iter().any(|series| series["value"][1] != "NaN");
        let excused = MAY_BE_EMPTY.iter().any(|(panel, _)| *panel == place);
        assert!(told || excused, "{place}: {asked}: {given:?}");
    }
    drop(prometheus);
    servers.into_iter().for_each(|server| drop(server.stop()));
}

#[test]
fn dashboard_is_whole() {
    let dashboard: Value = serde_json::from_str(&dashboard()).unwrap();
    assert_eq!((&dashboard["uid"], &dashboard["id"]), (&"loomrec".into(), &Value::Null));
    let (mut ids, mut titles) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64()) && titles.insert(title), "{title} stands twice");
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|said| said.len() > 20), "{title}");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title}");
        let sources = panel["targets"].as_array().unwrap().iter().chain([panel]);
        sources.for_each(|one| assert_eq!(one["datasource"]["uid"], "${datasource}", "{title}"));
        let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24 && place("h") > 0, "{title}");
    }
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = list.iter().filter_map(|variable| variable["name"].as_str()).collect();
    assert_eq!(names, ["datasource", "job", "instance", "provider", "model"]);
}

#[track_caller]
fn yaml(path: &str) -> Value {
    loomrec_dialect::yaml::parse(read(path).as_bytes())
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn recipe_mounts_what_there_is_and_its_parts_agree() {
    let folder = "docs/grafana";
    let compose = yaml(&format!("{folder}/compose.yaml"));
    let mut mounted = Vec::new();
    for service in compose["services"].as_object().unwrap().values() {
        for volume in service["volumes"].as_array().unwrap() {
            let (here, there) = volume.as_str().unwrap().split_once(':').unwrap();
            assert!(root().join(folder).join(here).exists(), "{here}");
            mounted.push(there.trim_end_matches(":ro").to_owned());
        }
        let ports = service["ports"].as_array().unwrap();
        assert!(ports.iter().all(|port| port.as_str().unwrap().starts_with("127.0.0.1:")));
    }
    let dashboards = yaml(&format!("{folder}/provisioning/dashboards/loomrec.yaml"));
    let place = dashboards["providers"][0]["options"]["path"].as_str().unwrap();
    let json = format!("{place}/loomrec.json");
    let home = &compose["services"]["grafana"]["environment"];
    assert_eq!(home["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"], json.as_str());
    assert!(mounted.contains(&json) && mounted.contains(&"/etc/grafana/provisioning".to_owned()));
    let sources = yaml(&format!("{folder}/provisioning/datasources/prometheus.yaml"));
    let source = &sources["datasources"][0];
    assert_eq!((&source["type"], &source["isDefault"]), (&"prometheus".into(), &true.into()));
    assert_eq!(source["url"], "http://prometheus:9090");
    let prometheus = &compose["services"]["prometheus"];
    let config = yaml(&format!("{folder}/prometheus.yml"));
    let job = &config["scrape_configs"][0];
    let secret = prometheus["secrets"][0].as_str().unwrap();
    let file = format!("/run/secrets/{secret}");
    assert_eq!(job["authorization"]["credentials_file"], file.as_str());
    assert_eq!(compose["secrets"][secret]["environment"], "LOOMREC_CONTROL_TOKEN");
    let target = job["static_configs"][0]["targets"][0].as_str().unwrap();
    let hosts = prometheus["extra_hosts"][0].as_str().unwrap();
    assert_eq!(target.split(':').next(), hosts.split(':').next());
    let page = read("docs/metrics.md");
    for said in ["docs/grafana/compose.yaml", "--listen 0.0.0.0:4141", "LOOMREC_CONTROL_TOKEN"] {
        assert!(page.contains(said), "docs/metrics.md does not say {said}");
    }
    assert_eq!(target.split(':').next_back(), Some("4141"));
}

#[test]
fn promtool_takes_the_configuration_of_the_recipe() {
    let test = "promtool_takes_the_configuration_of_the_recipe";
    let Some(promtool) = program("promtool", test) else { return };
    let config: &Path = &root().join("docs/grafana/prometheus.yml");
    let mut check = Command::new(promtool);
    // The token's file only exists in the container.
    finish(check.args(["check", "config", "--syntax-only"]).arg(config), b"").expect(0);
}

/// Series that each alert fires for, and one that none does.
const ALERTS: &str = r#"
rule_files: [ALERTS_FILE]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'loomrec_mismatches_total{reason="drifted",instance="hub"}', values: '0 0 1 1' }
      - { series: 'loomrec_lost_total{instance="hub"}', values: '0 0 0 2' }
      - { series: 'loomrec_sessions_total{event="refused",instance="hub"}', values: '0 1 1 1' }
      - { series: 'loomrec_sessions_total{event="begun",instance="hub"}', values: '0 1 2 3' }
      - { series: 'loomrec_reloads_total{outcome="failed",instance="hub"}', values: '0 0 1 1' }
      - { series: 'loomrec_remote_segments_left{instance="hub"}', values: '1x15' }
    alert_rule_test:
      - eval_time: 3m
        alertname: LoomrecMisses
        exp_alerts:
          - exp_labels: { severity: warning, reason: drifted, instance: hub }
            exp_annotations:
              summary: "hub: calls without a recorded answer (drifted)"
              description: GET /__loomrec/mismatches says what differs.
      - eval_time: 3m
        alertname: LoomrecExchangesLost
        exp_alerts:
          - exp_labels: { severity: critical, instance: hub }
            exp_annotations:
              summary: "hub: exchanges could not be recorded"
              description: The run ends with exit code 5. Its stderr and its receipt say why.
      - eval_time: 3m
        alertname: LoomrecReloadFailed
        exp_alerts:
          - exp_labels: { severity: warning, outcome: failed, instance: hub }
            exp_annotations:
              summary: "hub: SIGHUP read nothing again"
              description: The server has the certificate and the recordings that it had before. Its stderr says why.
      - eval_time: 3m
        alertname: LoomrecSegmentsLeft
        exp_alerts: []
      - eval_time: 12m
        alertname: LoomrecSegmentsLeft
        exp_alerts:
          - exp_labels: { severity: warning, instance: hub }
            exp_annotations:
              summary: "hub: recorded calls are not in the object store"
              description: They are safe on that machine. Its stderr says why the store takes none; loomrec tries again.
      - eval_time: 3m
        alertname: LoomrecSessionsExpired
        exp_alerts: []
"#;

#[test]
fn promtool_takes_the_alerts_and_they_fire() {
    let test = "promtool_takes_the_alerts_and_they_fire";
    let Some(promtool) = program("promtool", test) else { return };
    let rules = root().join("docs/grafana/alerts.yml");
    finish(Command::new(&promtool).args(["check", "rules"]).arg(&rules), b"").expect(0);
    let scene = Scene::new();
    let cases = ALERTS.replace("ALERTS_FILE", rules.to_str().unwrap());
    std::fs::write(scene.path("alerts_test.yml"), cases).unwrap();
    let mut check = Command::new(&promtool);
    finish(check.args(["test", "rules"]).arg(scene.path("alerts_test.yml")), b"").expect(0);
}

#[test]
fn alerts_ask_for_metrics_that_there_are() {
    let (alerts, page) = (read("docs/grafana/alerts.yml"), read("docs/metrics.md"));
    let names = Regex::new(r"loomrec_\w+").unwrap();
    let asked: BTreeSet<&str> = names.find_iter(&alerts).map(|found| found.as_str()).collect();
    assert!(asked.len() > 5, "{asked:?}");
    for name in asked {
        assert!(page.contains(&format!("| `{name}`")), "docs/metrics.md has no {name}");
    }
}
