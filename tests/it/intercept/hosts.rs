//! Tests of connections to hosts that are no upstream's.

use serde_json::json;

use super::{BASED, DIRECT, receipt, record, replay, replaying};
use crate::support::Scene;
use crate::support::loomrec::finish;
use crate::support::proxy::ProxyServer;
use crate::support::tls::{Authority, REMOTE_HOST};
use crate::support::{Answer, Upstream};

const OTHER: &str = "https://upstream.test/v1/metrics";

/// A server over TLS for `REMOTE_HOST`, and a proxy that leads to it.
fn server() -> (Upstream, ProxyServer) {
    let config = crate::support::tls::trusted_config();
    let server = Upstream::always_over(Some(config), Answer::json(200, "\"other\""));
    let proxy = ProxyServer::start(server.address());
    (server, proxy)
}

/// Gives the recorded call an upstream with an address of its own, or with its public one.
fn set_origin(scene: &Scene, upstream: &str, origin: Option<&str>) {
    let mut recording: serde_json::Value = serde_json::from_str(&scene.text()).unwrap();
    let entries = recording.as_object_mut().unwrap().iter_mut();
    let mut entries = entries.filter(|(name, _)| !name.starts_with('_'));
    let (_, entry) = entries.next().unwrap();
    entry["upstream"] = json!(upstream);
    match origin {
        Some(origin) => entry["upstream_origin"] = json!(origin),
        None => drop(entry.as_object_mut().unwrap().remove("upstream_origin")),
    }
    scene.write(recording.to_string());
}

#[test]
fn replay_refuses_other_hosts_and_says_how_to_let_them_through() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let (_server, proxy) = server();
    let run = |flags: &[&str]| {
        let flags = [&["--strict", "--intercept"], flags].concat();
        let mut command = replaying(&scene, &flags, &[DIRECT, OTHER, OTHER]);
        command.env("SSL_CERT_FILE", Authority::trusted().write(scene.dir()));
        finish(command.env("https_proxy", proxy.url()), b"")
    };
    let ended = run(&[]).expect(0).says(&[
        "a connection to upstream.test was refused: a replay with --intercept makes none to hosts \
         that are no upstream's; --pass upstream.test lets it through",
        "connections to hosts that are no upstream's were refused: upstream.test (2)",
    ]);
    assert_eq!(ended.stderr.matches("a connection to upstream.test").count(), 1);
    let why = "403 loomrec replays without upstream.test: --pass upstream.test permits it";
    assert_eq!(ended.stdout.matches(why).count(), 2, "{}", ended.stdout);
    let refused = json!([{ "host": "upstream.test", "count": 2 }]);
    assert_eq!((&receipt(&scene)["refused_hosts"], proxy.heads().len()), (&refused, 0));
    // The bundle has what the user's environment names, so the program trusts the server.
    let spelled = format!("{}.:443", REMOTE_HOST.to_uppercase());
    let ended =
        run(&["--pass", &spelled]).expect(0).says(&["weakened by flags: --intercept, --pass"]);
    assert_eq!(ended.stdout.matches("\"other\"").count(), 2, "{}", ended.stdout);
    let receipt = receipt(&scene);
    assert_eq!(receipt["passed_hosts"], json!([{ "host": "upstream.test", "count": 2 }]));
    assert_eq!((&receipt["refused_hosts"], &receipt["served"]), (&json!([]), &json!(1)));
    // By the proxy of the user.
    let lines: Vec<_> = proxy.heads().iter().map(|head| head.line.clone()).collect();
    assert_eq!(lines, ["CONNECT upstream.test:443 HTTP/1.1"; 2]);
}

#[test]
fn value_of_pass_that_was_not_typed_is_set_aside_by_strict() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let mut command = replaying(&scene, &["--strict", "--intercept"], &[DIRECT, OTHER]);
    let ended = finish(command.env("LOOMREC_PASS", "upstream.test"), b"").expect(0);
    let ended = ended.says(&["set aside by --strict: LOOMREC_PASS"]);
    assert!(ended.stdout.contains("403"), "{}", ended.stdout);
}

#[test]
fn record_passes_other_hosts_on_and_counts_them() {
    let scene = Scene::new();
    let (_server, proxy) = server();
    let upstream = super::upstream();
    let mut args = scene.record_args(&upstream.url(), &["--intercept"]);
    args.extend(["--receipt", "receipt.json"].map(Into::into));
    args.extend(super::program("hi", &[DIRECT, OTHER]).into_iter().map(Into::into));
    let mut command = crate::support::loomrec::command(scene.dir(), &args);
    command.env("SSL_CERT_FILE", Authority::trusted().write(scene.dir()));
    let ended = finish(command.env("https_proxy", proxy.url()), b"").expect(0);
    assert!(ended.stdout.contains("\"other\""), "{}", ended.stdout);
    let passed = json!([{ "host": "upstream.test", "count": 1 }]);
    let receipt = receipt(&scene);
    assert_eq!((&receipt["passed_hosts"], &receipt["recorded"]), (&passed, &json!(1)));
}

#[test]
fn hosts_of_regions_and_customers_escape_unless_an_upstream_has_their_address() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let azure = "https://mine.openai.azure.com/openai/v1/chat/completions";
    let ended = replay(&scene, &["--intercept"], &[DIRECT, azure]).expect(1);
    // The flag that this names is the one that helps.
    ended.says(&[
        "1 connection to mine.openai.azure.com went around loomrec, and got 403: give --upstream \
         azure=https://mine.openai.azure.com",
    ]);
    let flags = ["--intercept", "--upstream", "azure=https://mine.openai.azure.com"];
    let ended = replay(&scene, &flags, &[DIRECT, azure]).expect(1).says(&["1 missed"]);
    assert!(!ended.stderr.contains("went around"), "{}", ended.stderr);
}

#[test]
fn address_of_a_provider_in_a_recording_is_intercepted_and_no_other() {
    let scene = Scene::new();
    let (azure, other) = ("mine.openai.azure.com", "gateway.example");
    record(&scene, &[], &[BASED]).expect(0);
    for (host, is_intercepted) in [(azure, true), (other, false)] {
        set_origin(&scene, "azure", Some(&format!("https://{host}")));
        let url = format!("https://{host}/v1/chat/completions");
        let ended = replay(&scene, &["--intercept", "--allow-unchecked"], &[&url]);
        assert_eq!(
            ended.stdout.contains("403"),
            !is_intercepted,
            "{}{}",
            ended.stdout,
            ended.stderr
        );
        assert_eq!(ended.stdout.contains("hello") || ended.stdout.contains("422"), is_intercepted);
    }
}

#[test]
fn gateway_at_which_calls_were_recorded_fails_the_replay_and_never_gets_a_call() {
    let scene = Scene::new();
    record(&scene, &[], &[BASED]).expect(0);
    set_origin(&scene, "gw", Some("https://gateway.example"));
    let (_server, proxy) = server();
    let run = |flags: &[&str]| {
        let url = "https://gateway.example/v1/chat/completions";
        let mut command = replaying(&scene, flags, &["$LOOMREC_URL/gw/v1/chat/completions", url]);
        finish(command.env("https_proxy", proxy.url()), b"")
    };
    let around = "1 connection to gateway.example went around loomrec, and got 403";
    let remedy = format!("{around}: give --upstream gw=https://gateway.example");
    run(&["--intercept", "--allow-unchecked"]).expect(1).says(&[&remedy]);
    assert_eq!(receipt(&scene)["escapes"], json!([{ "host": "gateway.example", "count": 1 }]));
    // The guard alone knows it, too.
    run(&["--allow-unchecked"]).expect(1).says(&[around, "$LOOMREC_URL/gw"]);
    let passed = ["--intercept", "--allow-unchecked", "--pass", "gateway.example"];
    run(&passed).expect(2).says(&["a provider's or an upstream's host"]);
    assert_eq!(proxy.heads().len(), 0);
}

#[test]
fn call_of_one_region_or_customer_never_answers_that_of_another() {
    let scene = Scene::new();
    record(&scene, &["--intercept"], &[DIRECT]).expect(0);
    let path = "/v1/chat/completions";
    let run = |flags: &[&str], host: &str| {
        let flags = [&["--strict", "--intercept"], flags].concat();
        replay(&scene, &flags, &[&format!("https://{host}{path}")])
    };
    let (public, eu) = ("api.openai.com", "eu.api.openai.com");
    let at_eu = ["--upstream", "openai=https://eu.api.openai.com"];
    set_origin(&scene, "openai", Some("https://eu.api.openai.com"));
    run(&[], eu).expect(0).says(&["1 served"]);
    let ended = run(&[], public).expect(1).says(&[
        "1 missed",
        "If it was recorded with --upstream openai=https://eu.api.openai.com, give that flag again.",
    ]);
    assert!(ended.stdout.contains("other upstream"), "{}", ended.stdout);
    assert!(ended.stdout.contains(eu), "{}", ended.stdout);
    run(&["--upstream", "openai=https://us.api.openai.com"], "us.api.openai.com").expect(1);
    // The program's host leads to the other region, as it does in record with this flag.
    run(&at_eu, public).expect(0).says(&["1 served"]);
    // A program with a base URL calls no server of its own choice.
    replay(&scene, &["--strict", "--intercept"], &[BASED]).expect(0).says(&["1 served"]);
    set_origin(&scene, "openai", None);
    run(&[], public).expect(0).says(&["1 served"]);
    run(&at_eu, eu).expect(1).says(&["1 missed"]);
}
