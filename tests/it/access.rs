//! Tests of access policy: web pages, rebound host names, and request targets of other servers.

use serde_json::Value;

use crate::support::loomrec::{command, finish, free_port};
use crate::support::shape::{CHAT, chat, chat_answer, chat_body, message};
use crate::support::{Answer, Call, Scene, Server, Upstream};

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello")))
}

/// The headers that a page in a browser sends, one call for each combination.
fn of_a_page(call: impl Fn() -> Call) -> Vec<Call> {
    [
        ["origin: https://evil.example", "sec-fetch-site: cross-site"],
        ["origin: http://localhost:3000", "sec-fetch-site: same-site"],
        ["origin: null", "sec-fetch-site: cross-site"],
        ["origin: file://", "accept: */*"],
        ["origin: vscode-webview://0a1b2c", "accept: */*"],
        ["referer: https://evil.example/", "sec-fetch-site: cross-site"],
        ["referer: http://localhost:3000/", "sec-fetch-site: same-site"],
        ["host: evil.example:4141", "origin: http://evil.example:4141"],
        ["host: evil.example", "accept: */*"],
        ["host: 0.0.0.0", "accept: */*"],
        ["host: [::ffff:0:0]", "accept: */*"],
        ["host: [::ffff:127.0.0.1]:4141", "accept: */*"],
    ]
    .iter()
    .map(|lines| lines.iter().fold(call(), |call, line| call.header(line)))
    .collect()
}

#[test]
fn a_request_of_a_web_page_reaches_no_upstream_and_is_not_recorded() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--journal", "run.jsonl", "--receipt", "receipt.json"]);
    let pages = of_a_page(|| chat("hi"));
    for call in &pages {
        let refused = server.call(call).expect(403);
        let kind = refused.header("x-loomrec-error").unwrap();
        assert!(matches!(kind, "ForbiddenOrigin" | "ForbiddenHost"), "{kind}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("--allow-origin") || message.contains("--public-url"),
            "{message}"
        );
    }
    // Nothing was recorded, so the run fails.
    server.stop().expect(1);
    assert_eq!((upstream.requests(), scene.recording().exists()), (0, false));
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    assert_eq!((&receipt["refused"], &receipt["recorded"]), (&pages.len().into(), &0.into()));
    let journal = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    assert_eq!(journal.matches(r#""outcome":"refused""#).count(), pages.len(), "{journal}");
}

#[test]
fn a_request_of_a_web_page_takes_no_recorded_answer() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&["--strict"]);
    for call in of_a_page(|| chat("hi")) {
        server.call(&call).expect(403);
    }
    server.call(&chat("hi")).expect(200);
    server.stop().expect(1).says(&["calls refused: 12"]);
}

#[test]
fn a_refused_page_is_answered_in_the_shape_of_the_provider_it_asked() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let origin = "origin: https://evil.example";
    let refused = server.call(&message("hi").header(origin)).expect(403).json();
    assert_eq!(refused["error"]["type"], "permission_error", "{refused}");
    let gemini = Call::post("/v1beta/models/gemini-2.0-flash:generateContent", "{}");
    let refused = server.call(&gemini.header(origin)).expect(403).json();
    assert_eq!(refused["error"]["code"], 403, "{refused}");
    server.stop().expect(1);
}

#[test]
fn a_request_without_one_plain_host_is_malformed() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    for host in ["host: u@localhost", "host: localhost/x", "host: a b", "host: \u{e4}"] {
        server.call(&chat("hi").header(host)).expect(400);
    }
    server.call(&chat("hi").header("host: localhost").header("host: localhost")).expect(400);
    server.stop().expect(1);
    assert_eq!(upstream.requests(), 0);
}

#[test]
fn hosts_of_all_public_urls_are_served_and_addresses_are() {
    let (scene, upstream) = (Scene::new(), upstream());
    std::fs::write(scene.path("loomrec.toml"), "public-url = \"http://gateway.test\"\n").unwrap();
    scene.run(&["trust", "--yes"]).expect(0);
    let port = free_port().to_string();
    let own = format!("http://127.0.0.1:{port}");
    let urls = ["--listen", &port, "--public-url", &own, "--public-url", "http://loomrec:4141/x"];
    // The first URL is the one that is printed.
    let server =
        Server::spawn(&mut command(scene.dir(), &scene.record_args(&upstream.url(), &urls)));
    for host in ["loomrec:4141", "LoomRec:9", "Gateway.Test", "10.9.8.7:4141", "[::1]"] {
        server.call(&chat("hi").header(&format!("host: {host}"))).expect(200);
    }
    server.call(&chat("hi").header("host: other.test")).expect(403);
    server.stop().expect(0);
    let args = scene.record_args(&upstream.url(), &["--allow-origin", "localhost:3000"]);
    finish(&mut command(scene.dir(), &args), b"")
        .expect(2)
        .says(&["--allow-origin", "localhost:3000"]);
}

#[test]
fn a_page_of_an_allowed_origin_calls_as_a_browser_has_it() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &["--allow-origin", "http://localhost:3000"]);
    let origin = "origin: http://localhost:3000";
    let preflight = Call::new("OPTIONS", CHAT)
        .header(origin)
        .header("access-control-request-method: POST")
        .header("access-control-request-headers: authorization,content-type")
        .header("access-control-request-private-network: true");
    let answer = server.call(&preflight).expect(204);
    for (name, value) in [
        ("access-control-allow-origin", "http://localhost:3000"),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", "authorization,content-type"),
        ("access-control-allow-private-network", "true"),
        ("vary", "origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let page = || chat("hi").header(origin).header("sec-fetch-site: same-site");
    let answer = server.call(&page()).expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:3000"));
    assert_eq!(answer.header("access-control-expose-headers"), Some("*"));
    // The page can also read our own errors.
    let lost = server.call(&Call::get("/nowhere").header(origin)).expect(404);
    assert_eq!(lost.header("access-control-allow-origin"), Some("http://localhost:3000"));
    server.call(&chat("hi").header("origin: http://localhost:3001")).expect(403);
    server.stop().expect(0);
    assert_eq!((upstream.requests(), scene.takes().len()), (1, 1));
    let replay = scene.replayed(&["--allow-origin", "*"], &[page()], 0).remove(0).expect(200);
    assert_eq!(replay.header("access-control-allow-origin"), Some("http://localhost:3000"));
}

#[test]
fn a_page_of_another_origin_resets_no_run() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("ok"))));
    scene.recorded(&upstream, &[chat("hi")]);
    // Neither an allowed page nor one that has the token may reset the run.
    for more in [&["--allow-origin", "*"][..], &["--control-token", "t"]] {
        let server = scene.replay(more);
        server.call(&chat("hi")).expect(200);
        let host = format!("host: {}", server.address);
        let reset = |more: &[&str]| {
            let call = Call::post("/__loomrec/reset", "").header(&host);
            let call = call.header("x-loomrec-token: t");
            server.call(&more.iter().fold(call, |call, line| call.header(line))).status
        };
        for page in [
            &["origin: http://localhost:3000", "sec-fetch-site: same-site"][..],
            &["origin: http://127.0.0.1:3000"],
            &["origin: http://localhost:3000"],
            &["origin: null", "sec-fetch-site: cross-site"],
            &["origin: https://evil.example"],
            &["sec-fetch-site: cross-site"],
            &["sec-fetch-site: same-site"],
        ] {
            assert_eq!(reset(page), 403, "{more:?} {page:?}");
        }
        // The reset did not happen.
        server.call(&chat("hi")).expect(422);
        let own = format!("origin: http://{}", server.address);
        for caller in [&[own.as_str(), "sec-fetch-site: same-origin"][..], &[]] {
            assert_eq!(reset(caller), 200, "{more:?} {caller:?}");
            server.call(&chat("hi")).expect(200);
        }
        server.stop().expect(1);
    }
}

#[test]
fn a_program_that_names_its_own_server_as_origin_is_served() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let own = |scheme: &str| {
        let host = format!("host: {}", server.address);
        chat("hi").header(&host).header(&format!("origin: {scheme}://{}", server.address))
    };
    server.call(&own("http").header("sec-fetch-site: same-origin")).expect(200);
    server.call(&own("https")).expect(200);
    server.call(&own("ftp")).expect(403);
    server.stop().expect(0);
}

#[test]
fn an_absolute_target_of_another_host_sends_no_key_to_an_upstream() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    let at = |target: &str, host: &str| {
        Call::post(target, chat_body("hi").to_string())
            .header(&format!("host: {host}"))
            .header("authorization: Bearer key-of-another")
    };
    let port = server.address.port();
    let with_password = format!("http://u:p@127.0.0.1:{port}{CHAT}");
    for (target, host, status) in [
        (with_password.as_str(), "localhost", 400),
        ("http://evil.example/openai/v1/chat/completions", "evil.example", 421),
        ("http://evil.example/openai/v1/chat/completions", "localhost", 421),
        ("http://evil.example/@s/openai/v1/chat/completions", "localhost", 421),
        ("http://evil.example/__loomrec/journal", "localhost", 421),
        ("http://127.0.0.1:1/openai/v1/chat/completions", "localhost", 421),
        ("http://api.openai.com:8080/v1/chat/completions", "api.openai.com:8080", 421),
        ("http://api.openai.com/v1/chat/completions", "evil.example", 403),
        ("http://u:p@api.openai.com/v1/chat/completions", "api.openai.com", 400),
    ] {
        let refused = server.call(&at(target, host)).expect(status);
        assert!(!refused.text().contains("u:p"), "{}", refused.text());
    }
    assert_eq!(upstream.requests(), 0);
    let known = upstream.address().to_string();
    for (target, host) in [
        ("http://api.openai.com/v1/chat/completions".to_owned(), "api.openai.com"),
        ("http://api.openai.com/v1/chat/completions".to_owned(), "localhost"),
        (format!("http://{known}/v1/chat/completions"), known.as_str()),
        (format!("http://localhost:{port}{CHAT}"), "localhost"),
    ] {
        server.call(&at(&target, host)).expect(200);
    }
    let health = Call::get(&format!("http://127.0.0.1:{port}/__loomrec/health"));
    server.call(&health).expect(200);
    server.stop().expect(0);
    assert_eq!((upstream.requests(), scene.takes().len()), (4, 4));
}

#[test]
fn a_host_with_a_scheme_or_a_mapped_address_opens_no_control_path() {
    let (scene, upstream) = (Scene::new(), upstream());
    scene.recorded(&upstream, &[chat("hi")]);
    let server = scene.replay(&[]);
    server.call(&chat("hi")).expect(200);
    for host in ["evil://localhost", "http://127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:0:0]"] {
        let reset = Call::post("/__loomrec/reset", "").header(&format!("host: {host}"));
        assert_eq!(server.call(&reset).status, 403, "{host}");
    }
    // The reset did not happen.
    server.call(&chat("hi")).expect(422);
    server.stop().expect(1);
}

/// A command that calls as a page would.
const PAGE: &str = r#"
import os, urllib.error, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
try:
    urllib.request.urlopen(urllib.request.Request(url, b"{}", {"origin": "https://evil.example"}))
except urllib.error.HTTPError as error:
    print(error.code)
"#;

#[test]
fn a_run_with_a_command_reports_pages_that_were_refused() {
    let (scene, upstream) = (Scene::new(), upstream());
    let mut args = scene.record_args(&upstream.url(), &[]);
    args.extend(["--", "python3", "-c", PAGE].map(Into::into));
    let ended = finish(&mut command(scene.dir(), &args), b"").expect(1);
    assert_eq!(ended.stdout, "403\n");
    assert!(ended.stderr.contains("calls refused"), "{}", ended.stderr);
    assert!(ended.stderr.contains("https://evil.example"), "{}", ended.stderr);
    assert_eq!(upstream.requests(), 0);
}
