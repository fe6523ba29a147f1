//! Tests of what an entry tells about whoever recorded it: `ls`, `show` and `verify` name the home,
//! the host and the user in it, and secrets of object stores are in no recording.

use serde_json::Value;

use crate::support::loomrec::command;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Server, Upstream};

/// Starts a recorder with these variables.
fn recorder(scene: &Scene, upstream: &Upstream, variables: &[(&str, &str)]) -> Server {
    let mut command = command(
        scene.dir(),
        &scene.record_args(
            &upstream.url(),
            &["--bind", "--normalize", "user: I am {{user}}, at home"],
        ),
    );
    command.args(["--listen", "127.0.0.1:0"]).envs(variables.iter().copied());
    Server::spawn(&mut command)
}

#[test]
fn ls_show_and_verify_say_that_an_entry_holds_personal_values() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("ok")));
    let scene = Scene::new();
    let server = recorder(&scene, &upstream, &[("HOME", "/home/ann"), ("USER", "annlee")]);
    server.call(&chat("I am annlee, at home in /home/ann/work")).expect(200);
    server.call(&chat("I am nobody")).expect(200);
    server.stop().expect(0);
    let listed = scene.run(&["ls", "run.json"]).expect(0).stdout;
    assert!(listed.contains("1 with personal values (home, user)"), "{listed}");
    let listed = scene.run(&["ls", "run.json", "--json"]).expect(0).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["personal_values"], serde_json::json!(["home", "user"]));
    assert_eq!(listed[1]["personal_values"], serde_json::json!([]));
    let (name, _) = scene.takes().swap_remove(0);
    let shown = scene.run(&["show", "run.json", &name]).expect(0).stdout;
    assert!(shown.contains("values of its home, user"), "{shown}");
    let found = scene.run(&["verify", "run.json", "--strict"]).expect(0).stdout;
    assert!(found.contains("1 entry holds personal values of their run: home, user"), "{found}");
    // Without such values, nothing is said.
    let plain = Scene::new();
    plain.recorded(&upstream, &[chat("hi")]);
    for args in [&["ls", "run.json"][..], &["verify", "run.json"]] {
        let said = plain.run(args).expect(0).stdout;
        assert!(!said.contains("personal"), "{said}");
    }
}

#[test]
fn secrets_of_an_object_store_are_in_no_local_recording() {
    let secret = "storeCanaryQ7f3aZb94Wm2x0";
    let upstream = Upstream::always(Answer::json(200, chat_answer(&format!("it is {secret}"))));
    for name in ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY"] {
        let scene = Scene::new();
        let server = recorder(&scene, &upstream, &[(name, secret)]);
        let answer = server.call(&chat(&format!("env says {name}={secret}"))).expect(200);
        assert!(answer.text().contains(secret));
        server.stop().expect(0);
        for (path, bytes) in scene.files() {
            assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", path.display());
        }
        assert_eq!(scene.takes().len(), 1);
        // A machine without the secret sends another request; one with it is answered.
        let mut replay = command(scene.dir(), &scene.replay_args(&["--strict"]));
        replay.args(["--listen", "127.0.0.1:0"]).env(name, secret);
        let server = Server::spawn(&mut replay);
        server.call(&chat(&format!("env says {name}={secret}"))).expect(200);
        server.stop().expect(0);
    }
}
