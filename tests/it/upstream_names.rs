//! Tests of upstream names: typos are refused, destinations are printed, unused names are noted.

use serde_json::Value;

use crate::support::loomrec::{command, finish};
use crate::support::proxy::ProxyServer;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Scene, Server, Upstream};

const TYPO: &str = "opnai=http://127.0.0.1:9";

const REFUSAL: &str = "--upstream opnai=http://127.0.0.1:9: did you mean openai? As it stands, \
                       calls to openai go to https://api.openai.com. If opnai is an upstream of \
                       its own, give it another name";

/// A scene with a recording, which nothing must change.
fn recorded() -> (Scene, String) {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("hi"))));
    scene.recorded(&upstream, &[chat("hi")]);
    let text = scene.text();
    (scene, text)
}

#[test]
fn misspelled_name_is_refused_by_every_command_before_it_does_anything() {
    let (scene, before) = recorded();
    for args in [
        &["record", "-r", "run.json", "--", "touch", "ran"][..],
        &["record", "-r", "run.json", "--print-env"],
        &["replay", "-r", "run.json", "--", "touch", "ran"],
        &["replay", "-r", "run.json", "--on-miss", "forward"],
        &["rerecord", "run.json", "--yes"],
        &["import", "run.json", "-o", "imported.json"],
    ] {
        let mut typed = command(scene.dir(), &[args[0], "--upstream", TYPO]);
        finish(typed.args(&args[1..]), b"").expect(2).says(&[REFUSAL]);
        let mut set = command(scene.dir(), args);
        finish(set.env("LOOMREC_UPSTREAM", TYPO), b"").expect(2).says(&[REFUSAL]);
    }
    std::fs::write(scene.path("loomrec.toml"), "upstreams.opnai = \"http://127.0.0.1:9\"\n")
        .unwrap();
    scene
        .run(&["record", "-r", "run.json", "--", "touch", "ran"])
        .expect(2)
        .says(&[REFUSAL, "settings were read from"]);
    assert_eq!(scene.text(), before);
    assert_eq!(scene.names(), ["loomrec.toml", "run.json"]);
}

#[test]
fn start_of_a_live_run_says_where_calls_go() {
    let (scene, _) = recorded();
    let told = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(scene.dir(), args);
        let ended = finish(command.envs(variables.iter().copied()), b"").expect(0);
        let line = ended.stderr.lines().find(|line| line.contains("upstreams: "));
        line.map(str::to_owned)
    };
    let record = ["record", "-r", "new.json", "--allow-empty", "--", "true"];
    assert_eq!(told(&record, &[]), None);
    let variable = ("OPENAI_BASE_URL", "http://user:secret@127.0.0.1:9/v1");
    assert_eq!(
        told(&record, &[variable, ("LOOMREC_UPSTREAM", "anthropic=http://127.0.0.1:8/x")]).unwrap(),
        "loomrec: upstreams: openai → http://…@127.0.0.1:9 · anthropic → http://127.0.0.1:8/x · \
         all others → their public addresses"
    );
    assert_eq!(
        told(&record, &[("LOOMREC_UPSTREAM", "http://127.0.0.1:8")]).unwrap(),
        "loomrec: upstreams: all others → http://127.0.0.1:8"
    );
    let replay = ["replay", "-r", "run.json", "--allow-empty", "--", "true"];
    assert_eq!(told(&replay, &[variable]), None);
    let forward = [("LOOMREC_ON_MISS", "forward"), ("LOOMREC_UPSTREAM", "groq=http://127.0.0.1:8")];
    assert_eq!(
        told(&replay, &forward).unwrap(),
        "loomrec: upstreams: openai → https://api.openai.com · groq → http://127.0.0.1:8 · all \
         others → their public addresses"
    );
}

#[test]
fn upstream_that_got_no_call_is_noted_with_where_the_calls_went() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hi")));
    // The public address is not reached: the proxy refuses.
    let proxy = ProxyServer::answering(upstream.address(), "HTTP/1.1 403 Forbidden\r\n\r\n");
    let gateway = format!("gateway={}", upstream.url());
    let args = ["record", "-r", "run.json", "--listen", "127.0.0.1:0", "--upstream", &gateway];
    let mut misled = command(scene.dir(), &[&args[..], &["--receipt", "receipt.json"]].concat());
    let server = Server::spawn(misled.env("HTTPS_PROXY", proxy.url()));
    server.call(&chat("hi")).expect(502);
    let note = "upstream gateway got no call; calls to openai went to https://api.openai.com: did \
                you mean --upstream openai=URL?";
    server.stop().expect(6).says(&[note]);
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert!(receipt["notes"].as_array().unwrap().contains(&note.into()), "{receipt}");

    let server = Server::start(scene.dir(), &[&args[..3], &args[5..]].concat());
    server.call(&Call::get("/gateway/v1/models")).expect(200);
    let said = server.stop().expect(0).stderr;
    assert!(!said.contains("got no call"), "{said}");
    // The other upstreams that were named are known ones, and every call went to a named one.
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let said = server.stop().expect(0).stderr;
    assert!(!said.contains("got no call"), "{said}");
}
