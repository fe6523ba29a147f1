//! A temporary folder for a test, with a recording in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Call, Response};
use super::loomrec::{Finished, Server, run};
use super::upstream::Upstream;

/// A temporary folder; removed at the end.
pub(crate) struct Scene {
    dir: TempDir,
    /// The name of its recording.
    name: &'static str,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::with_prefix("loomrec-it-").unwrap(), name: "run.json" }
    }

    /// A scene with a recording for each session.
    pub(crate) fn of_sessions() -> Self {
        Self { name: "recordings/{session}.json", ..Self::new() }
    }

    /// A new folder inside `parent`.
    pub(crate) fn within(parent: &Path) -> Self {
        Self { dir: TempDir::with_prefix_in("loomrec-it-", parent).unwrap(), name: "run.json" }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The name of the recording in its folder.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.path(self.name)
    }

    /// The arguments of `record`, with each upstream that the tests call set to `upstream`.
    pub(crate) fn record_args(&self, upstream: &str, more: &[&str]) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["record".into(), "-r".into(), self.recording().into()];
        for name in ["openai", "anthropic", "gemini", "bedrock", "ollama"] {
            args.push("--upstream".into());
            args.push(format!("{name}={upstream}").into());
        }
        args.extend(more.iter().map(OsString::from));
        args
    }

    pub(crate) fn replay_args(&self, more: &[&str]) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["replay".into(), "-r".into(), self.recording().into()];
        args.extend(more.iter().map(OsString::from));
        args
    }

    #[track_caller]
    pub(crate) fn record(&self, upstream: &Upstream, more: &[&str]) -> Server {
        Server::start(self.dir(), &self.record_args(&upstream.url(), more))
    }

    #[track_caller]
    pub(crate) fn replay(&self, more: &[&str]) -> Server {
        Server::start(self.dir(), &self.replay_args(more))
    }

    /// Records the calls, one after the other, in one run, which succeeds whatever the answers are.
    #[track_caller]
    pub(crate) fn recorded(&self, upstream: &Upstream, calls: &[Call]) -> Vec<Response> {
        let server = self.record(upstream, &["--keep-failures"]);
        let answers = calls.iter().map(|call| server.call(call)).collect();
        server.stop().expect(0);
        answers
    }

    /// Replays the calls in one run that exits with `code`.
    #[track_caller]
    pub(crate) fn replayed(&self, more: &[&str], calls: &[Call], code: i32) -> Vec<Response> {
        let server = self.replay(more);
        let answers = calls.iter().map(|call| server.call(call)).collect();
        server.stop().expect(code);
        answers
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        run(self.dir(), args)
    }

    pub(crate) fn write(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.recording(), text).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.recording()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// Every take in the recording with its name, in the file's order.
    pub(crate) fn takes(&self) -> Vec<(String, Value)> {
        let mut out = Vec::new();
        for (name, entry) in self.json().as_object().unwrap() {
            match entry {
                _ if name.starts_with('_') => {}
                Value::Array(turns) => {
                    out.extend(turns.iter().map(|turn| (name.clone(), turn.clone())));
                }
                one => out.push((name.clone(), one.clone())),
            }
        }
        out
    }

    /// The only take.
    #[track_caller]
    pub(crate) fn only_take(&self) -> Value {
        let takes = self.takes();
        assert_eq!(takes.len(), 1, "{}", self.text());
        takes.into_iter().next().unwrap().1
    }

    /// A file that belongs to the recording: `hidden(".log")` is the recording's log.
    pub(crate) fn hidden(&self, suffix: &str) -> PathBuf {
        let mut name = self.recording().file_name().unwrap().to_owned();
        name.push(suffix);
        self.recording().with_file_name(".loomrec").join(name)
    }

    /// The same, to be written by a test before loomrec has created the folder.
    pub(crate) fn planted(&self, suffix: &str) -> PathBuf {
        let path = self.hidden(suffix);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// The names of the files in the folder, and in loomrec's hidden folder there, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let hidden = std::fs::read_dir(self.dir().join(".loomrec")).into_iter().flatten();
        let entries = std::fs::read_dir(self.dir()).unwrap().chain(hidden);
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.retain(|name| name != ".loomrec" && name != ".gitignore");
        names.sort();
        names
    }

    /// Every file below the folder, with its bytes.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut out = Vec::new();
        let mut open = vec![self.dir().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false if path.ends_with(".loomrec/.gitignore") => {}
                    false => out.push((path.clone(), std::fs::read(&path).unwrap())),
                }
            }
        }
        out
    }
}
