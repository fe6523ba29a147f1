//! Pointer files: what they name is used only if the user trusts the bucket. A store that no one has
//! trusted gets no connection.

use serde_json::json;

use super::{Project, calling};
use crate::support::loomrec::{Finished, finish};
use crate::support::pty::Terminal;

const POINTER: &str = "agent.remote.json";

/// A project with a pointer file, and a store that is the stranger's server.
struct Pointed(Project);

impl Pointed {
    fn new() -> Self {
        let pointed = Self(Project::new());
        pointed.point_to("s3://stranger/agent");
        pointed
    }

    fn point_to(&self, url: &str) {
        let pointer = json!({
            "format": "loomrec-pointer/1", "url": url, "takes": 1, "bytes": 1,
            "manifest": format!("sha256:{}", "0".repeat(64)),
        });
        std::fs::write(self.0.scene.path(POINTER), pointer.to_string()).unwrap();
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.0.command(args);
        command.env("AWS_ENDPOINT_URL", self.0.address()).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "0123456789abcdef");
        command.env("AWS_REGION", "us-east-1");
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Finished {
        finish(&mut self.command(args), b"")
    }

    /// Runs a command that must refuse the pointer file, and reach nobody.
    #[track_caller]
    fn refuses(&self, args: &[&str]) {
        let before = self.0.stranger.connections();
        self.run(args).expect(2).says(&[
            POINTER,
            "s3://stranger",
            "loomrec trust agent.remote.json",
            "LOOMREC_TRUST=s3://stranger",
        ]);
        assert_eq!(self.0.stranger.connections(), before, "{args:?}");
    }

    /// Runs a command that must ask the store.
    #[track_caller]
    fn asks(&self, command: &mut std::process::Command) {
        let before = self.0.stranger.connections();
        let ended = finish(command, b"");
        assert!(!ended.stderr.contains("nobody has trusted"), "{}", ended.stderr);
        assert!(self.0.stranger.connections() > before, "{}", ended.stderr);
    }
}

#[test]
fn no_command_uses_a_pointer_file_to_a_bucket_that_the_user_does_not_trust() {
    let pointed = Pointed::new();
    for line in [
        &["replay", "--strict", "-r", POINTER, "--", "true"][..],
        &["replay", "-r", "run.json", "-r", POINTER, "--", "true"],
        &[&["record", "-r", POINTER][..], &calling()].concat(),
        &["pull", POINTER],
        &["pull", "--update", POINTER],
        &["push", "agent.json", "--output", POINTER],
        &["push", "--fix", "agent.json"],
        &["ls", POINTER],
        &["show", POINTER, "79c0"],
        &["diff", "run.json", POINTER],
        &["stats", POINTER],
        &["verify", POINTER],
        &["verify", "--deep", POINTER],
        &["export", "--to", "har", POINTER],
        &["ui", POINTER],
    ] {
        std::fs::copy(pointed.0.scene.path("run.json"), pointed.0.scene.path("agent.json"))
            .unwrap();
        pointed.refuses(line);
    }
    let mut command = pointed.command(&["replay", "--", "true"]);
    finish(command.env("LOOMREC_RECORDING", POINTER), b"").expect(2).says(&["loomrec trust"]);
}

#[test]
fn bucket_is_trusted_by_its_pointer_file_or_its_url_until_it_is_forgotten() {
    let pointed = Pointed::new();
    let shown = pointed.run(&["trust", POINTER]).expect(2);
    assert!(shown.stdout.contains("agent.remote.json points to s3://stranger/agent"));
    shown.says(&["--yes is needed"]);
    pointed.refuses(&["ls", POINTER]);
    for named in [POINTER, "s3://stranger", "s3://stranger/agent@v1"] {
        pointed.run(&["trust", "--yes", named]).expect(0).says(&["you trust s3://stranger"]);
        pointed.asks(&mut pointed.command(&["ls", POINTER]));
        assert!(pointed.run(&["trust", "--list"]).expect(0).stdout.contains("s3://stranger\n"));
        let again = pointed.run(&["trust", POINTER]).expect(0).stdout;
        assert!(again.contains("you trust s3://stranger"), "{again}");
        pointed.point_to("s3://stranger/other");
        pointed.asks(&mut pointed.command(&["ls", POINTER]));
        pointed.point_to("s3://elsewhere/agent");
        let refused = pointed.run(&["ls", POINTER]).expect(2);
        refused.says(&["points to s3://elsewhere", "nobody has trusted"]);
        pointed.point_to("s3://stranger/agent");
        pointed.run(&["trust", "--forget", named]).expect(0);
        pointed.refuses(&["ls", POINTER]);
    }
    let none = pointed.run(&["trust", "--list"]).expect(0).stdout;
    assert_eq!(none, "you trust no settings file and no bucket\n");
}

#[test]
fn question_about_a_bucket_decides() {
    let pointed = Pointed::new();
    for (answer, code) in [("\n", 1), ("n\n", 1), ("yes\n", 0)] {
        let mut terminal = Terminal::spawn(pointed.command(&["trust", POINTER]), true);
        terminal.wait_for("May recordings come from s3://stranger and go there? [y/N]");
        terminal.types(answer);
        let (ended, shown) = terminal.end();
        assert_eq!(ended, Some(code), "{answer:?}: {shown}");
    }
    pointed.asks(&mut pointed.command(&["ls", POINTER]));
}

#[test]
fn bucket_that_the_user_has_typed_is_trusted() {
    for line in [&["pull", "s3://stranger/other"][..], &["push", "run.json", "s3://stranger/mine"]]
    {
        let pointed = Pointed::new();
        pointed.refuses(&["ls", POINTER]);
        pointed.asks(&mut pointed.command(line));
        pointed.asks(&mut pointed.command(&["ls", POINTER]));
    }
    // The URL of a settings file is not typed.
    let pointed = Pointed::new();
    pointed.0.settings("recording = \"s3://stranger/agent\"\n");
    pointed.0.trust();
    pointed.asks(&mut pointed.command(&["ls"]));
    pointed.refuses(&["ls", POINTER]);
}

#[test]
fn ci_trusts_a_bucket_by_its_url() {
    let pointed = Pointed::new();
    let hash = "0".repeat(64);
    for grant in ["s3://stranger", "s3://stranger/agent", &format!("{hash} s3://stranger")] {
        let mut command = pointed.command(&["ls", POINTER]);
        pointed.asks(command.env("LOOMREC_TRUST", grant).env_remove("HOME"));
    }
    pointed.asks(&mut pointed.command(&["--trust", "s3://stranger", "ls", POINTER]));
    for other in ["s3://elsewhere", "gs://stranger", hash.as_str()] {
        let mut command = pointed.command(&["ls", POINTER]);
        finish(command.env("LOOMREC_TRUST", other), b"").expect(2).says(&["nobody has trusted"]);
    }
    let mut command = pointed.command(&["ls", POINTER]);
    let refused = finish(command.env("LOOMREC_TRUST", "https://stranger"), b"").expect(2);
    refused.says(&["64 hex digits", "s3://BUCKET"]);
    pointed.refuses(&["ls", POINTER]);
}

#[test]
fn what_names_no_bucket_cannot_be_trusted() {
    let pointed = Pointed::new();
    let run = |named: &str, says: &[&str]| {
        pointed.run(&["trust", "--yes", named]).expect(2).says(says);
    };
    run("s3://", &["names no bucket", "s3://BUCKET"]);
    run("missing.remote.json", &["missing.remote.json is no pointer file"]);
    pointed.point_to("https://stranger/agent");
    run(POINTER, &["names no bucket that can be read"]);
    let none = pointed.run(&["trust", "--list"]).expect(0).stdout;
    assert_eq!(none, "you trust no settings file and no bucket\n");
}
