//! Tests of the setup of docs/git.md, and of the commands that a merge prints.

use std::process::Command;

use super::Repository;
use crate::support::loomrec::finish;

/// Returns the rest of the line of docs/git.md that begins like this.
fn documented(beginning: &str) -> &'static str {
    let page = include_str!("../../../docs/git.md");
    page.lines().find_map(|line| line.strip_prefix(beginning)).unwrap()
}

#[test]
fn pointers_and_damaged_versions_are_shown_as_they_are() {
    let repository = Repository::new(&[]);
    let shown = documented("git config diff.loomrec.textconv ").trim_matches('\'');
    let binary = format!("'{}' show", env!("CARGO_BIN_EXE_loomrec"));
    let shown = shown.replace("loomrec show", &binary);
    repository.git(&["config", "diff.loomrec.textconv", &shown]);
    let attributes = ["recordings/*.json", "recordings/*.remote.json"]
        .map(|pattern| format!("{pattern}{}\n", documented(pattern)));
    std::fs::write(repository.0.path(".gitattributes"), attributes.concat()).unwrap();
    let write = |recording: &str, digit: &str| {
        let folder = repository.0.path("recordings");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agent.json"), recording).unwrap();
        let pointer = format!(
            "{{\n  \"format\": \"loomrec-pointer/1\",\n  \"url\": \"s3://bucket/agent\",\n  \
             \"manifest\": \"sha256:{}\",\n  \"takes\": 1,\n  \"bytes\": 10\n}}\n",
            digit.repeat(64)
        );
        std::fs::write(folder.join("agent.remote.json"), pointer).unwrap();
    };
    write("{\"plan\": {\"content\": \"fine\"}}\n", "a");
    repository.commit();
    write("{\"plan\": {\"content\": \"cut", "b");
    let shown = repository.git(&["diff"]).stdout;
    for part in [" fine\n", "\n+{\"plan\": {\"content\": \"cut\n", "+  \"manifest\": \"sha256:bbbb"]
    {
        assert!(shown.contains(part), "{part:?} not in\n{shown}");
    }
    repository.commit();
    repository.git(&["log", "-p"]);
}

#[test]
fn printed_commands_decide_in_any_folder_whatever_the_name() {
    for name in ["plain.json", "my run [1]'s.json"] {
        let repository = Repository::new(&[]);
        let folder = repository.0.path("kept");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join(name);
        let write = |words: &str| {
            let text = format!("{{\"plan\": {{\"content\": \"{words}\", \"model\": \"m\"}}}}\n");
            std::fs::write(&file, text).unwrap();
        };
        write("base");
        repository.commit();
        repository.branch("a", |_| write("theirs"));
        repository.branch("b", |_| write("ours"));
        let merged = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
        let decisions = merged.stderr.lines().filter_map(|line| line.split_once(" with: "));
        let printed: Vec<&str> = decisions.map(|(_, command)| command.trim()).collect();
        assert_eq!(printed.len(), 3, "{}", merged.stderr);
        let mut shell = Command::new("sh");
        shell.args(["-c", printed[1]]).current_dir(&folder).env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        shell.env("HOME", repository.0.dir());
        finish(&mut shell, b"").expect(0);
        assert!(std::fs::read_to_string(&file).unwrap().contains("theirs"), "{name}");
        let status = repository.git(&["status", "--porcelain"]).stdout;
        assert!(status.starts_with("M "), "{status}");
    }
}
