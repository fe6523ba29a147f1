//! Tests of recordings in git: the real git merges branches with recordings through the merge
//! driver.

mod setup;

use std::process::Command;

use crate::support::loomrec::{Finished, Server, finish};
use crate::support::shape::{chat, chat_answer, message, message_answer};
use crate::support::{Answer, Call, Scene, Upstream};

/// A repository with the merge driver, and a recording in it.
struct Repository(Scene);

impl Repository {
    /// A repository with these calls recorded on the first branch; without a recording if there are
    /// none.
    fn new(calls: &[Call]) -> Self {
        let new = Self(Scene::new());
        new.git(&["init", "-q", "-b", "main"]);
        new.git(&["config", "user.name", "A"]);
        new.git(&["config", "user.email", "a@b.c"]);
        let driver = format!("{} merge --git %O %A %B %P", env!("CARGO_BIN_EXE_loomrec"));
        new.git(&["config", "merge.loomrec.driver", &driver]);
        let attributes = "*.json merge=loomrec\n";
        std::fs::write(new.0.path(".gitattributes"), attributes).unwrap();
        if !calls.is_empty() {
            new.record("first", calls);
        }
        new.commit();
        new
    }

    /// Records calls; each is answered with these words.
    fn record(&self, words: &str, calls: &[Call]) {
        self.record_with(words, calls, &[]);
    }

    fn record_with(&self, words: &str, calls: &[Call], more: &[&str]) {
        let words = words.to_owned();
        let upstream = Upstream::start(move |request| match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer(&words)),
            _ => Answer::json(200, chat_answer(&words)),
        });
        let server = self.0.record(&upstream, more);
        for call in calls {
            server.call(call).expect(200);
        }
        server.stop().expect(0);
    }

    /// Records on a new branch that begins at the first commit, and commits.
    fn branch(&self, name: &str, work: impl FnOnce(&Self)) {
        self.git(&["checkout", "-q", "-b", name, "main"]);
        work(self);
        self.commit();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", "recorded"]);
    }

    fn try_git(&self, args: &[&str], variable: Option<&str>) -> Finished {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.0.dir()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.0.dir()).env("GIT_EDITOR", "true");
        if let Some(value) = variable {
            command.env("LOOMREC_ON_CONFLICT", value);
        }
        finish(&mut command, b"")
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> Finished {
        self.try_git(args, None).expect(0)
    }

    /// The answers to these calls in a strict replay, in which every take must be used.
    #[track_caller]
    fn replayed(&self, calls: &[Call]) -> Vec<String> {
        let server = Server::start(self.0.dir(), &self.0.replay_args(&["--fail-unused"]));
        let said = calls.iter().map(|call| {
            let answer = server.call(call).expect(200).json();
            let words = match answer.get("choices") {
                Some(choices) => &choices[0]["message"]["content"],
                None => &answer["content"][0]["text"],
            };
            words.as_str().unwrap().to_owned()
        });
        let said = said.collect();
        server.stop().expect(0);
        said
    }

    /// Asserts that only the recording and git's own files are present.
    #[track_caller]
    fn is_tidy(&self) {
        assert_eq!(self.0.names(), [".git", ".gitattributes", "run.json"]);
    }
}

fn step(prompt: &str, step: &str) -> Call {
    chat(prompt).header(&format!("x-loomrec-step-id: {step}"))
}

#[test]
fn two_branches_that_recorded_other_calls_are_merged_without_a_loss() {
    let repository = Repository::new(&[chat("shared"), chat("changed by a")]);
    repository.branch("a", |it| {
        it.record("second", &[chat("only a"), chat("changed by a"), message("both shapes")]);
    });
    repository.branch("b", |it| it.record("third", &[chat("only b"), message("hello")]));
    let said = repository.git(&["merge", "-m", "merged", "a"]);
    said.says(&["run.json: 3 takes of theirs merged, 1 of ours dropped"]);
    let calls = [
        chat("shared"),
        chat("changed by a"),
        chat("only a"),
        message("both shapes"),
        chat("only b"),
        message("hello"),
    ];
    let words = ["first", "second", "second", "second", "third", "third"];
    assert_eq!(repository.replayed(&calls), words);
    repository.is_tidy();
    assert_eq!(repository.git(&["status", "--porcelain"]).stdout, "");
}

#[test]
fn merge_takes_what_is_not_changed_as_it_stands() {
    let repository = Repository::new(&[chat("one"), chat("two"), chat("three")]);
    repository.branch("a", |it| it.record("second", &[chat("two")]));
    repository.branch("b", |it| it.record("third", &[chat("four")]));
    repository.git(&["merge", "-m", "merged", "a"]);
    let changed = |from: &str| repository.git(&["diff", "--numstat", from, "HEAD"]).stdout;
    let counts = |text: &str| -> (usize, usize) {
        let mut words = text.split_whitespace().map(|word| word.parse().unwrap_or(0));
        (words.next().unwrap(), words.next().unwrap())
    };
    // Compared with a's side, only an entry is added; compared with b's, only lines of one entry
    // change.
    let (added, removed) = counts(&changed("HEAD^2"));
    assert!(added > 10 && removed <= 1, "{added} {removed}");
    let (added, removed) = counts(&changed("HEAD^1"));
    assert!(added < 12 && removed < 12, "{added} {removed}");
}

#[test]
fn branches_without_a_recording_in_common_are_merged_too() {
    let repository = Repository::new(&[]);
    repository.branch("a", |it| it.record("second", &[chat("only a"), chat("of both")]));
    repository.branch("b", |it| it.record("second", &[chat("only b"), chat("of both")]));
    repository.git(&["merge", "-m", "merged", "a"]);
    let calls = [chat("only a"), chat("of both"), chat("only b")];
    assert_eq!(repository.replayed(&calls), ["second"; 3]);
    repository.is_tidy();
}

#[test]
fn call_that_both_changed_is_a_conflict_until_it_is_decided() {
    for (decision, words) in [
        (None, &["ours"][..]),
        (Some("first"), &["ours"]),
        (Some("last"), &["theirs"]),
        (Some("theirs"), &["theirs"]),
        (Some("both"), &["ours", "theirs"]),
    ] {
        let repository = Repository::new(&[chat("same"), chat("kept")]);
        repository.branch("a", |it| it.record("theirs", &[chat("same"), chat("new")]));
        repository.branch("b", |it| it.record("ours", &[chat("same")]));
        let said = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
        said.says(&[
            "run.json: 1 conflict",
            "answered differently by both",
            "git checkout --merge",
        ]);
        assert_eq!(repository.git(&["status", "--porcelain"]).stdout, "UU run.json\n");
        if decision.is_some() {
            let args = ["checkout", "--merge", "run.json"];
            repository.try_git(&args, decision).expect(0);
        }
        repository.git(&["add", "run.json"]);
        repository.git(&["commit", "-q", "--no-edit"]);
        let same = vec![chat("same"); words.len()];
        assert_eq!(repository.replayed(&[&same[..], &[chat("kept"), chat("new")]].concat()), {
            [words, &["first", "theirs"]].concat()
        });
        repository.is_tidy();
    }
}

#[test]
fn conflict_alone_is_not_reported_as_a_merge_of_no_takes() {
    let repository = Repository::new(&[chat("same")]);
    repository.branch("a", |it| it.record("theirs", &[chat("same")]));
    repository.branch("b", |it| it.record("ours", &[chat("same")]));
    let said = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
    let said = said.says(&["run.json: 1 conflict"]);
    assert!(!said.stderr.contains("0 takes"), "{}", said.stderr);
}

#[test]
fn variable_decides_conflicts_at_once() {
    let repository = Repository::new(&[chat("same")]);
    repository.branch("a", |it| it.record("theirs", &[chat("same")]));
    repository.branch("b", |it| it.record("ours", &[chat("same")]));
    let said = repository.try_git(&["merge", "-m", "merged", "a"], Some("last")).expect(0);
    said.says(&["decided as asked: 1 conflict"]);
    assert_eq!(repository.replayed(&[chat("same")]), ["theirs"]);
}

#[test]
fn call_that_one_side_removed_goes_unless_the_other_changed_it() {
    let remove = |it: &Repository, text: &str| {
        let mut json = it.0.json();
        let entries = json.as_object_mut().unwrap();
        entries.retain(|_, entry| !entry.to_string().contains(text));
        it.0.write(format!("{json:#}\n"));
    };
    let repository = Repository::new(&[chat("leaves"), chat("stays")]);
    repository.branch("a", |it| remove(it, "leaves"));
    repository.branch("b", |it| it.record("second", &[chat("other")]));
    repository.git(&["merge", "-m", "merged", "a"]).says(&["1 of ours dropped"]);
    assert_eq!(repository.replayed(&[chat("stays"), chat("other")]), ["first", "second"]);

    let repository = Repository::new(&[chat("leaves"), chat("stays")]);
    repository.branch("a", |it| remove(it, "leaves"));
    repository.branch("b", |it| it.record("second", &[chat("leaves")]));
    let said = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
    said.says(&["changed by ours, removed by theirs"]);
    assert_eq!(repository.replayed(&[chat("leaves"), chat("stays")]), ["second", "first"]);
}

#[test]
fn takes_that_both_added_stand_behind_each_other() {
    let repository = Repository::new(&[chat("again"), step("turn one", "plan")]);
    let add = ["--mode", "new_episodes"];
    let calls = |more: &str| [chat("again"), chat("again"), step(more, "plan")];
    repository.branch("a", |it| it.record_with("theirs", &calls("turn of a"), &add));
    repository.branch("b", |it| it.record_with("ours", &calls("turn of b"), &add));
    let said = repository.git(&["merge", "-m", "merged", "a"]);
    said.says(&["both sides added takes"]);
    let again = vec![chat("again"); 3];
    let turns = ["turn one", "turn of b", "turn of a"].map(|prompt| step(prompt, "plan"));
    assert_eq!(
        repository.replayed(&[&again[..], &turns].concat()),
        ["first", "ours", "theirs", "first", "ours", "theirs"]
    );
    let keys = repository.0.json();
    let keys: Vec<&String> = keys.as_object().unwrap().keys().collect();
    assert!(keys.iter().any(|key| key.ends_with("#3")), "{keys:?}");
}

#[test]
fn rebase_goes_through_the_driver() {
    let repository = Repository::new(&[chat("shared")]);
    repository.branch("a", |it| it.record("second", &[chat("only a")]));
    repository.branch("b", |it| it.record("third", &[chat("only b")]));
    repository.record("third", &[chat("another of b")]);
    repository.commit();
    repository.git(&["rebase", "-q", "a"]);
    let calls = [chat("shared"), chat("only a"), chat("only b"), chat("another of b")];
    assert_eq!(repository.replayed(&calls), ["first", "second", "third", "third"]);
    repository.is_tidy();
}

#[test]
fn damaged_side_is_left_to_the_person() {
    let repository = Repository::new(&[chat("shared")]);
    repository.branch("a", |it| it.0.write("{ \"_version\": 2,"));
    repository.branch("b", |it| it.record("third", &[chat("only b")]));
    let said = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
    said.says(&["run.json (theirs)", "failed to read"]);
    assert_eq!(repository.replayed(&[chat("shared"), chat("only b")]), ["first", "third"]);
    assert_eq!(repository.git(&["status", "--porcelain"]).stdout, "UU run.json\n");
}

#[test]
fn rules_that_one_side_changed_hold_for_the_keys_of_both() {
    let with_user = |user: &str| {
        let body = format!(
            "{{\"model\":\"gpt-4o-mini\",\"user\":\"{user}\",\
             \"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}]}}"
        );
        Call::post("/openai/v1/chat/completions", body).header("content-type: application/json")
    };
    let repository = Repository::new(&[chat("shared")]);
    repository.branch("a", |it| it.record("second", &[with_user("one")]));
    repository.branch("b", |it| {
        std::fs::remove_file(it.0.recording()).unwrap();
        it.record_with("first", &[chat("shared")], &["--ignore", "/user"]);
    });
    repository.git(&["merge", "-m", "merged", "a"]);
    assert_eq!(repository.replayed(&[chat("shared"), with_user("two")]), ["first", "second"]);
}

#[test]
fn side_that_was_emptied_is_damaged_and_takes_nothing_away() {
    let repository = Repository::new(&[chat("shared")]);
    repository.branch("a", |it| it.0.write(""));
    repository.branch("b", |it| it.record("third", &[chat("only b")]));
    let said = repository.try_git(&["merge", "-m", "merged", "a"], None).expect(1);
    said.says(&["run.json (theirs)", "the file is empty"]);
    assert_eq!(repository.replayed(&[chat("shared"), chat("only b")]), ["first", "third"]);
    assert_eq!(repository.git(&["status", "--porcelain"]).stdout, "UU run.json\n");
    repository.git(&["merge", "--abort"]);
    repository.git(&["checkout", "-q", "a"]);
    let said = repository.try_git(&["merge", "-m", "merged", "b"], None).expect(1);
    said.says(&["run.json (ours)", "the file is empty"]);
}

#[test]
fn strict_calls_stay_strict_when_they_come_into_another_tools_recording() {
    let repository = Repository::new(&[]);
    let plan = |words: &str| format!(r#"{{"plan": {{"content": "{words}", "model": "m"}}}}"#);
    repository.0.write(plan("x"));
    repository.commit();
    repository.branch("a", |it| it.record("second", &[chat("one")]));
    repository.branch("b", |it| it.0.write(plan("y")));
    repository.git(&["merge", "-m", "merged", "a"]);
    let answers = repository.0.replayed(&[], &[chat("one"), chat("one")], 1);
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 422]);
}

#[test]
fn a_recording_that_git_ignores_is_named() {
    let repository = Repository::new(&[]);
    std::fs::write(repository.0.path(".gitignore"), "*.log\nru*.json\n").unwrap();
    let upstream = Upstream::always(Answer::json(200, chat_answer("hello")));
    let server = repository.0.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    ended.says(&["git ignores", "(.gitignore:2:ru*.json): `git add -f"]);
    repository.git(&["add", "-f", "run.json"]);
    let server = repository.0.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    assert!(!ended.stderr.contains("git ignores"), "{}", ended.stderr);
}

#[test]
fn conflict_markers_are_named_by_each_command() {
    let repository = Repository::new(&[chat("hi")]);
    let text = repository.0.text();
    let (before, after) = text.split_at(text.find("    \"content\"").unwrap());
    let line = after.split_inclusive('\n').next().unwrap();
    let rest = &after[line.len()..];
    let text = format!("{before}<<<<<<< HEAD\n{line}=======\n{line}>>>>>>> other\n{rest}");
    repository.0.write(&text);
    let says = ["the file has conflict markers of git", "loomrec merge"];
    for command in [&["ls", "run.json"][..], &["show", "run.json", "x"]] {
        let ended = repository.0.run(command).expect(4).says(&says);
        assert!(!ended.stderr.contains("damaged"), "{}", ended.stderr);
    }
    let told = repository.0.run(&["verify", "run.json"]).expect(1).stdout;
    assert!(told.contains("it has conflict markers of git"), "{told}");
    repository.0.run(&["replay", "-r", "run.json", "--", "true"]).expect(4).says(&says);
}

#[test]
fn line_ends_of_another_system_are_not_mixed_with_ours() {
    let repository = Repository::new(&[chat("one"), chat("two")]);
    let text = repository.0.text();
    repository.0.write(text.replace('\n', "\r\n"));
    let replay = ["--strict", "--fail-unused"];
    repository.0.replayed(&replay, &[chat("one"), chat("two")], 0);
    repository.record("more", &[chat("three")]);
    assert!(!repository.0.text().contains('\r'), "{}", repository.0.text());
    repository.0.replayed(&["--strict"], &[chat("one"), chat("two"), chat("three")], 0);
}
