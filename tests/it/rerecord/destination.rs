//! Tests of where calls are sent again: the plan says it, and another address needs a yes.

use std::process::Command;

use serde_json::json;

use super::{KEY, entries, json_of, prepared, speaker};
use crate::support::loomrec::{command, finish};
use crate::support::pty::Terminal;
use crate::support::shape::chat;
use crate::support::{Scene, Server, Upstream};

/// A recording of a call to a local server, and that server.
fn recorded() -> (Scene, Upstream) {
    let (scene, upstream) = (Scene::new(), speaker("old"));
    scene.recorded(&upstream, &[chat("hi")]);
    (scene, upstream)
}

/// `rerecord` of the recording with these flags, with a key and no address.
fn without_address(scene: &Scene, args: &[&str]) -> Command {
    let mut command = command(scene.dir(), &[&["rerecord", "run.json"], args].concat());
    command.env("OPENAI_API_KEY", KEY);
    command
}

#[test]
fn an_entry_says_where_it_was_sent_unless_that_is_public() {
    let (scene, upstream) = recorded();
    assert_eq!(scene.only_take()["upstream_origin"], upstream.url());
    let scene = Scene::new();
    let address = format!("openai=http://who:pass-0123456789@{}/below", upstream.address());
    let args = ["record", "-r", "run.json", "--upstream", &address, "--redact", "127[.]0"];
    let server = Server::start(scene.dir(), &args);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    let port = upstream.address().port();
    assert_eq!(scene.only_take()["upstream_origin"], format!("http://[REDACTED].0.1:{port}"));
    assert!(!scene.text().contains("pass-") && !scene.text().contains("below"));
}

#[test]
fn plan_names_the_address_and_the_one_at_the_time_of_recording() {
    let (scene, upstream) = recorded();
    let plan = finish(&mut without_address(&scene, &["--dry-run"]), b"").expect(0).stdout;
    let line = format!("openai → https://api.openai.com, it was recorded at {}\n", upstream.url());
    assert!(plan.starts_with(&line), "{plan}");
    let plan = finish(&mut without_address(&scene, &["--dry-run", "--json"]), b"").expect(0);
    assert_eq!(
        json_of(&plan)["plan"]["upstreams"],
        json!([{
            "upstream": "openai", "url": "https://api.openai.com", "differs": true,
            "recorded_at": [upstream.url()],
        }])
    );
    let plan = finish(&mut prepared(&scene, &upstream, &["run.json", "--dry-run"]), b"").expect(0);
    let line = format!("openai → {}, where it was recorded\n", upstream.url());
    assert!(plan.stdout.starts_with(&line), "{}", plan.stdout);
    assert_eq!((upstream.requests(), scene.names()), (1, vec!["run.json".to_owned()]));
}

#[test]
fn another_address_needs_a_yes() {
    let (scene, upstream) = recorded();
    let difference =
        format!("openai goes to https://api.openai.com, but was recorded at {}", upstream.url());
    finish(&mut without_address(&scene, &[]), b"").expect(2).says(&[&format!(
        "nothing was sent: {difference}. Without a terminal to ask on, --yes is needed; to send \
         the calls where they were recorded, add --upstream openai={}\n",
        upstream.url()
    )]);
    let mut asked = without_address(&scene, &[]);
    asked.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn(asked, true);
    terminal.wait_for("[y/N] ");
    terminal.types("n\n");
    let (code, seen) = terminal.end();
    let seen = seen.replace("\r\n", "\n");
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains(&format!("\n{difference}\nSend this call (")), "{seen}");
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn address_of_a_variable_is_used_with_a_yes_and_kept_with_the_new_answer() {
    let (scene, upstream) = recorded();
    let gateway = speaker("new");
    let mut elsewhere = without_address(&scene, &["--yes"]);
    elsewhere.env("OPENAI_BASE_URL", format!("{}/v1", gateway.url()));
    finish(&mut elsewhere, b"").expect(0).says(&[&format!(
        "loomrec: openai goes to {}, but was recorded at {}\n",
        gateway.url(),
        upstream.url()
    )]);
    assert_eq!((gateway.requests(), upstream.requests()), (1, 1));
    let (_, entry) = entries(&scene, "run.json.new").remove(0);
    assert_eq!(entry["upstream_origin"], gateway.url());
    // The address that a flag gives is no surprise.
    let said =
        finish(&mut prepared(&scene, &gateway, &["run.json", "--yes", "-o", "other.json"]), b"");
    let said = said.expect(0).stderr;
    assert!(!said.contains("goes to"), "{said}");
}

#[test]
fn missed_requests_are_compared_with_the_calls_of_the_recording() {
    let (scene, upstream) = recorded();
    scene.replayed(&["--pending", "run.json.pending"], &[chat("ho")], 1);
    let args = ["--pending", "run.json.pending", "--dry-run"];
    let plan = finish(&mut without_address(&scene, &args), b"").expect(0).stdout;
    let line = format!("openai → https://api.openai.com, it was recorded at {}\n", upstream.url());
    assert!(plan.starts_with(&line), "{plan}");
}

#[test]
fn the_plan_of_a_dry_run_needs_no_key_and_says_which_is_missing() {
    let (scene, upstream) = recorded();
    let run = |args: &[&str]| {
        finish(&mut command(scene.dir(), &[&["rerecord", "run.json"], args].concat()), b"")
    };
    let missing = "there is no key for openai: set OPENAI_API_KEY or CODEX_API_KEY";
    let plan = run(&["--dry-run"]).expect(0).stdout;
    assert!(plan.starts_with("openai → https://api.openai.com"), "{plan}");
    let end = format!("\nnothing was sent (--dry-run)\nnot ready to send: {missing}\n");
    assert!(plan.contains("1 call · ") && plan.ends_with(&end), "{plan}");
    let plan = json_of(&run(&["--dry-run", "--json"]).expect(0))["plan"].clone();
    assert_eq!((&plan["calls"], &plan["missing_keys"]), (&json!(1), &json!([missing])));
    run(&["--yes"]).expect(2).says(&["nothing was sent, because no call", missing]);
    let with_key = finish(&mut without_address(&scene, &["--dry-run", "--json"]), b"").expect(0);
    assert_eq!(json_of(&with_key)["plan"]["missing_keys"], json!([]));
    assert_eq!((upstream.requests(), scene.names()), (1, vec!["run.json".to_owned()]));
}
