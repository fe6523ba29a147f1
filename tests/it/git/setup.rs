//! Tests of the commands that a merge prints.

use std::process::Command;

use super::Repository;
use crate::support::loomrec::finish;

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
