//! Tests of the guard of a command that is recorded: it refuses nothing, and names what no replay
//! can answer.

use std::net::TcpListener;
use std::process::Command;

use rcgen::CertificateParams;
use serde_json::{Value, json};

use super::{AROUND, receipt, upstream, variable};
use crate::support::loomrec::{command, finish};
use crate::support::proxy::ProxyServer;
use crate::support::shape::chat_answer;
use crate::support::socks::SocksServer;
use crate::support::tls::Authority;
use crate::support::{Answer, Finished, Scene, Upstream};

/// A program that asks loomrec through its proxy for `https`, as clients do that use that for every
/// address: once in a tunnel, once without.
const BY_PROXY: &str = r#"
import base64, http.client, json, os, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
own = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
login = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
login = {"proxy-authorization": "Basic " + login}
body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
def ask(connection, target, headers):
    headers = {"content-type": "application/json", **headers}
    connection.request("POST", target, json.dumps(body), headers)
    answer = connection.getresponse()
    print(answer.status, answer.read().decode(), flush=True)
tunnel = http.client.HTTPConnection(proxy.hostname, proxy.port)
tunnel.set_tunnel(own.hostname, own.port, login)
ask(tunnel, own.path + "/chat/completions", {})
plain = http.client.HTTPConnection(proxy.hostname, proxy.port)
ask(plain, os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"host": own.netloc, **login})
"#;

fn recording(scene: &Scene, upstream: &Upstream, flags: &[&str], words: &[&str]) -> Command {
    let flags = [flags, &["--receipt", "receipt.json", "--"], words].concat();
    command(scene.dir(), &scene.record_args(&upstream.url(), &flags))
}

/// Records `AROUND` with this address, over the proxies and certificates of `environment`.
fn record_around(scene: &Scene, environment: &[(&str, String)], url: &str) -> Finished {
    let upstream = upstream();
    let mut record = recording(scene, &upstream, &[], &["python3", "-c", AROUND, url]);
    record.envs(environment.iter().map(|(name, value)| (name, value)));
    finish(&mut record, b"")
}

#[test]
fn run_that_called_a_provider_around_loomrec_is_named_and_ends_as_it_would_without() {
    let scene = Scene::new();
    let names = ["api.openai.com".to_owned()];
    let config = Authority::trusted().server_config(&CertificateParams::new(names).unwrap());
    let provider = Upstream::always_over(Some(config), Answer::json(200, chat_answer("live")));
    let trust = Authority::trusted().write(scene.dir()).display().to_string();
    let url = "https://api.openai.com/v1/models";
    let socks = SocksServer::start(provider.address());
    for proxy in [
        ("https_proxy", ProxyServer::start(provider.address()).url()),
        ("ALL_PROXY", format!("socks5h://me:p@{}", socks.address())),
    ] {
        let environment = [proxy, ("SSL_CERT_FILE", trust.clone())];
        let ended = record_around(&scene, &environment, url).expect(0).says(&[
            "loomrec record: ok: 1 recorded",
            "1 connection to api.openai.com went around loomrec, and was not recorded, so a replay \
             will fail: have the program use $OPENAI_BASE_URL as its base URL, or give --intercept",
        ]);
        assert!(ended.stdout.contains("said {") && ended.stdout.contains("live"));
        let receipt = receipt(&scene);
        assert_eq!(receipt["escapes"], json!([{ "host": "api.openai.com", "count": 1 }]));
        assert_eq!(receipt["verdict"], "ok");
    }
    assert_eq!(provider.received().len(), 2);
    // The exit code of the command stays, too.
    let words = ["sh", "-c", "curl -s https://api.openai.com/ -o /dev/null; exit 7"];
    let upstream = upstream();
    let mut record = recording(&scene, &upstream, &["--allow-empty"], &words);
    let ended = finish(record.env("HTTPS_PROXY", "http://127.0.0.1:9"), b"").expect(7);
    ended.says(&["1 connection to api.openai.com went around loomrec"]);
}

#[test]
fn host_of_this_machine_is_reached_and_an_unreachable_one_may_be_tried_again() {
    let scene = Scene::new();
    let names = ["127.0.0.2".to_owned()];
    let config = Authority::trusted().server_config(&CertificateParams::new(names).unwrap());
    let local = Upstream::always_over(Some(config), Answer::json(200, chat_answer("local")));
    let trust = Authority::trusted().write(scene.dir()).display().to_string();
    let port = local.address().port();
    // NO_PROXY has no name for this address of the loopback interface.
    let front = TcpListener::bind(("127.0.0.2", 0)).unwrap();
    let address = front.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in front.incoming().flatten() {
            let mut server = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut back, mut up) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut up, &mut back));
            let _ = std::io::copy(&mut client, &mut server);
        }
    });
    let url = format!("https://{address}/x");
    let ended = record_around(&scene, &[("SSL_CERT_FILE", trust)], &url).expect(0);
    assert!(ended.stdout.contains("local"), "{}", ended.stdout);
    let ended = record_around(&scene, &[], "https://nowhere.invalid/").expect(0);
    assert!(ended.stdout.contains("Tunnel connection failed: 502"), "{}", ended.stdout);
}

#[test]
fn client_that_uses_its_proxy_for_every_address_is_recorded_and_replayed() {
    let (scene, upstream) = (Scene::new(), upstream());
    let words = ["python3", "-c", BY_PROXY];
    let ended = finish(&mut recording(&scene, &upstream, &[], &words), b"").expect(0);
    assert_eq!(ended.stdout.matches("200 ").count(), 2, "{}", ended.stdout);
    let recorded = receipt(&scene);
    assert_eq!((&recorded["recorded"], &recorded["escapes"]), (&json!(2), &json!([])));
    let args = scene.replay_args(&["--strict", "--receipt", "receipt.json", "--"]);
    let args = [args, words.map(Into::into).to_vec()].concat();
    let replayed = finish(&mut command(scene.dir(), &args), b"").expect(0);
    assert_eq!(replayed.stdout, ended.stdout);
    assert_eq!(receipt(&scene)["escapes"], json!([]));
}

#[test]
fn sessions_of_a_recorded_command_have_the_guard_too() {
    let (scene, upstream) = (Scene::of_sessions(), upstream());
    let words = ["sh", "-c", "env; curl -s https://api.anthropic.com/ -o /dev/null; true"];
    let mut record = recording(&scene, &upstream, &["--allow-empty"], &words);
    let ended = finish(record.env("ALL_PROXY", "http://127.0.0.1:9"), b"").expect(0);
    assert!(variable(&ended, "HTTPS_PROXY").unwrap().starts_with("http://loomrec:"));
    ended.says(&["1 connection to api.anthropic.com went around loomrec, and was not recorded"]);
    let said: Value = receipt(&scene);
    assert_eq!(said["escapes"], json!([{ "host": "api.anthropic.com", "count": 1 }]));
}
