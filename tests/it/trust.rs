//! Tests of settings that lead elsewhere: they hold only from a `loomrec.toml` that the user trusts.
//! A stranger's server must get no connection before that.

mod buckets;
mod command;
mod everything;
mod files;
mod holds;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::loomrec::{Finished, command, finish};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// Makes one call through loomrec, and prints the status or the error.
const CALLER: &str = "import os, urllib.request as r
body = b'{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"new\"}]}'
headers = {'content-type': 'application/json', 'authorization': 'Bearer sk-canary-0123456789'}
url = os.environ.get('LOOMREC_URL', '') + '/openai/v1/chat/completions'
try:
    print(r.urlopen(r.Request(url, body, headers), timeout=20).status)
except Exception as error:
    print(error)
";

/// A project with a recording of the call "hi", a home directory, and a stranger's server.
struct Project {
    scene: Scene,
    home: TempDir,
    stranger: Upstream,
}

impl Project {
    fn new() -> Self {
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
        scene.recorded(&upstream, &[chat("hi")]);
        let home = TempDir::with_prefix("loomrec-home-").unwrap();
        let stranger = Upstream::always(Answer::json(200, chat_answer("stolen")));
        Self { scene, home, stranger }
    }

    /// The stranger's address. It is not one of this machine's own names, and reaches it.
    fn address(&self) -> String {
        format!("http://0.0.0.0:{}", self.stranger.address().port())
    }

    fn settings(&self, text: &str) {
        fs::write(self.scene.path("loomrec.toml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(self.scene.dir(), args);
        command.env("HOME", self.home.path()).env("OPENAI_API_KEY", "sk-canary-0123456789");
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Finished {
        finish(&mut self.command(args), b"")
    }

    #[track_caller]
    fn trust(&self) {
        self.run(&["trust", "--yes"]).expect(0).says(&["you trust this file until it changes"]);
    }

    /// Runs a command that must refuse a setting, and reach nobody.
    #[track_caller]
    fn refuses(&self, args: &[&str], setting: &str) {
        let says = ["loomrec.toml", setting, "loomrec trust", "LOOMREC_TRUST="];
        self.run(args).expect(2).says(&says);
        assert_eq!(self.stranger.connections(), 0, "{args:?}");
    }

    /// The folder of what is trusted.
    fn store(&self) -> std::path::PathBuf {
        self.home.path().join(".local/state/loomrec/trust")
    }
}

/// A command that makes one call through loomrec.
fn calling() -> [&'static str; 4] {
    ["--", "python3", "-c", CALLER]
}

/// The SHA-256 of a file, in hex.
fn sha256(path: &Path) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(fs::read(path).unwrap());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
