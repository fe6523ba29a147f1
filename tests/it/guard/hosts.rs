//! Tests of the hosts that the guard knows, in every spelling.

use std::collections::BTreeSet;

use loomrec_provider::directory::PROVIDER_HOSTS;

use super::tunnels::{GuardedRun, echo};
use super::{receipt, recorded};
use crate::support::{Call, Client};

#[test]
fn no_tunnel_leads_to_this_machine() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::start(&scene, &[]);
    let port = echo.port();
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "localhost",
        "LOCALHOST.",
        "app.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "0.0.0.0",
        // Written so that only the system knows the address.
        "2130706433",
        "0x7f.1",
        "127.1",
    ] {
        let mut client = Client::connect(run.guard);
        let call = Call::new("CONNECT", &format!("{host}:{port}")).header(&run.login);
        let answer = client.exchange(&call).expect(403);
        assert!(answer.text().contains("NO_PROXY"), "{host}: {}", answer.text());
    }
    run.end().expect(0);
}

#[test]
fn each_host_of_a_provider_is_refused_and_what_only_looks_like_one_is_counted() {
    let (scene, echo) = (recorded(), echo());
    let run = GuardedRun::leading_to(&scene, echo);
    let mut refused = BTreeSet::new();
    let mut passed = BTreeSet::new();
    for pattern in PROVIDER_HOSTS.iter().flat_map(|hosts| hosts.patterns) {
        let host = pattern.replacen("**", "team-1", 1).replace('*', "eu-west-1");
        let line = run.connect(&format!("{host}:443")).line;
        assert!(line.contains(" 403 loomrec replays calls to "), "{host}: {line}");
        let like = format!("{host}.evil.test");
        let line = run.connect(&format!("{like}:443")).line;
        assert!(line.contains(" 200 "), "{like}: {line}");
        passed.insert(like);
        refused.insert(host);
    }
    for (target, host) in [
        ("API.OpenAI.com:443", "api.openai.com"),
        ("api.anthropic.com.:443", "api.anthropic.com"),
        ("models.github.ai:8443", "models.github.ai:8443"),
    ] {
        let line = run.connect(target).line;
        assert!(line.contains(" 403 "), "{target}: {line}");
        refused.insert(host.to_owned());
    }
    for host in ["xapi.openai.com", "xn--pi-7ia.openai.com", "openai.com", "[2606:4700::1]"] {
        let line = run.connect(&format!("{host}:443")).line;
        assert!(line.contains(" 200 "), "{host}: {line}");
        passed.insert(host.to_owned());
    }
    let ended = run.end().expect(1);
    assert!(ended.stderr.contains("hosts that are no known providers' were passed on"));
    let receipt = receipt(&scene);
    let hosts = |of: &str| {
        let list = receipt[of].as_array().unwrap().iter();
        list.map(|one| one["host"].as_str().unwrap().to_owned()).collect()
    };
    let (escapes, others): (BTreeSet<String>, _) = (hosts("escapes"), hosts("passed_hosts"));
    assert_eq!((escapes, others), (refused, passed));
}
