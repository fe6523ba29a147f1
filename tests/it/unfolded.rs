//! Tests of a recording that is only a log, because its recorder was killed before compaction:
//! every command accepts it as the recording.

use crate::support::fleet::kill;
use crate::support::ledger::{check, mark, teller};
use crate::support::swarm::call;
use crate::support::{Call, Scene};

/// A scene in which a recorder with these flags was killed after one call.
fn killed_after(flags: &[&str], first: &Call) -> (Scene, String) {
    let (scene, upstream) = (Scene::new(), teller());
    let server = scene.record(&upstream, flags);
    let mark = mark(&server.call(first).expect(200).text()).unwrap();
    kill(&server);
    server.process.wait().expect(-9);
    assert!(!scene.recording().exists(), "folded within moments: {:?}", scene.names());
    (scene, mark)
}

#[test]
fn each_mode_of_recording_knows_what_is_only_in_the_log() {
    for mode in ["new_episodes", "once", "none"] {
        let (scene, first) = killed_after(&[], &call("chat-one"));
        let upstream = teller();
        let server = scene.record(&upstream, &["--mode", mode]);
        let again = server.call(&call("chat-one")).expect(200);
        assert_eq!(mark(&again.text()).unwrap(), first, "{mode}");
        server.stop().expect(0);
        assert_eq!(upstream.connections(), 0, "{mode} called again what was recorded");
        assert_eq!(check(&scene, &[first].into()).len(), 1, "{mode}");
    }
}

#[test]
fn rules_of_identity_are_kept_though_nothing_was_folded() {
    let asked = |user: &str| {
        let body = format!(
            r#"{{"model":"gpt-4o-mini","user":"{user}","messages":[{{"role":"user","content":"chat-one"}}]}}"#
        );
        Call::post(crate::support::shape::CHAT, body)
    };
    let (scene, first) = killed_after(&["--ignore", "/user"], &asked("ada"));
    // The next recorder adopts the rules that it finds.
    let upstream = teller();
    let server = scene.record(&upstream, &["--mode", "new_episodes"]);
    assert_eq!(mark(&server.call(&asked("bob")).expect(200).text()), Some(first.clone()));
    server.stop().expect(0);
    scene.replayed(&["--strict"], &[asked("eve")], 0).remove(0).expect(200);
    let (scene, _) = killed_after(&["--ignore", "/user"], &asked("ada"));
    let mut args = scene.record_args(&upstream.url(), &["--ignore", "/seed"]);
    args.extend(["--".into(), "true".into()]);
    let refused = crate::support::run(scene.dir(), &args).expect(2);
    assert!(refused.stderr.contains("/user"), "{}", refused.stderr);
}

#[test]
fn a_further_run_replaces_what_the_killed_one_left_in_the_log() {
    let (scene, first) = killed_after(&[], &call("chat-one"));
    let upstream = teller();
    // Uses a serial number that the first upstream has not given.
    scene.recorded(&upstream, &[call("chat-other"), call("chat-one")]);
    let kept = check(&scene, &["chat-other => 0".to_owned(), "chat-one => 1".to_owned()].into());
    assert!(kept.len() == 2 && !kept.contains(&first), "{kept:?}");
}
