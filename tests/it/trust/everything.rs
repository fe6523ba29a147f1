//! Every setting of every command, by the definition of the command line.

use clap::{Arg, ArgAction};
use loomrec_arguments::SettingScope;
use loomrec_cli::settings::is_settable;

use super::{Project, calling};
use crate::support::shape::chat_answer;
use crate::support::{Answer, Upstream};

/// The commands that call upstreams or serve.
const REACHING: [&str; 3] = ["record", "replay", "rerecord"];

/// A value of a setting that would lead to the stranger if the setting could, as TOML.
fn hostile(arg: &Arg, stranger: &str) -> String {
    let words = arg.get_possible_values();
    let word = words.iter().map(|word| word.get_name()).find(|word| *word == "forward");
    match (arg.get_action(), arg.get_long().unwrap_or_default()) {
        (ArgAction::SetTrue, _) => "true".to_owned(),
        (_, "upstream") => format!("[\"openai={stranger}\", \"anthropic={stranger}\"]"),
        (_, "recording") => "\"s3://stranger/agent\"".to_owned(),
        (_, "listen") => "\"0.0.0.0:0\"".to_owned(),
        _ if !words.is_empty() => format!("\"{}\"", word.unwrap_or(words[0].get_name())),
        _ => {
            let parser = arg.get_value_parser().type_id();
            let is_text = parser == std::any::TypeId::of::<String>()
                || parser == std::any::TypeId::of::<std::path::PathBuf>();
            if is_text { format!("\"{stranger}\"") } else { "\"1\"".to_owned() }
        }
    }
}

#[test]
fn every_setting_reaches_nobody_or_needs_trust() {
    let definition = loomrec_arguments::command_line();
    let (mut all, mut outward) = (0, 0);
    for command in definition.get_subcommands() {
        for arg in command.get_arguments().filter(|arg| is_settable(arg)) {
            let name = format!("{} --{}", command.get_name(), arg.get_long().unwrap_or_default());
            let scope = arg.get::<SettingScope>();
            assert!(
                scope.is_some(),
                "{name} can be set by a file: say at its definition what it can reach, \
                 #[arg(add = SettingScope::…)]"
            );
            let is_plain = matches!(scope, Some(SettingScope::Run | SettingScope::InputFile));
            assert!(is_plain || REACHING.contains(&command.get_name()), "{name}");
            all += 1;
            outward += usize::from(is_outward(arg));
        }
    }
    eprintln!("settings: {all}; of these, settings that need trust: {outward}");
    assert!(all > 60 && outward > 10);
}

fn is_outward(arg: &Arg) -> bool {
    matches!(
        SettingScope::from_argument(arg),
        SettingScope::Outside { .. }
            | SettingScope::UpstreamAddress
            | SettingScope::Recording
            | SettingScope::Redaction
    )
}

#[test]
fn no_setting_of_an_untrusted_file_reaches_a_stranger() {
    let refused: usize = std::thread::scope(|scope| {
        let tries = REACHING.map(|name| scope.spawn(move || try_each_setting(name)));
        tries.into_iter().map(|tried| tried.join().unwrap()).sum()
    });
    eprintln!("settings that were refused: {refused}");
    assert!(refused > 10);
}

/// Runs a command under each of its settings alone. Returns how many were refused.
fn try_each_setting(name: &str) -> usize {
    let project = Project::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("Hello")));
    let good = format!("openai={}", upstream.url());
    let definition = loomrec_arguments::command_line();
    let command = definition.find_subcommand(name).unwrap();
    let mut refused = 0;
    for arg in command.get_arguments().filter(|arg| is_settable(arg)) {
        let setting = arg.get_long().unwrap_or_default();
        let value = hostile(arg, &project.address());
        project.settings(&format!("[{name}]\n{setting} = {value}\n"));
        let ended = project.run(&command_line(name, setting, &good));
        assert_eq!(project.stranger.connections(), 0, "{name} --{setting}");
        let is_refused = ended.stderr.contains("loomrec trust");
        // Redaction needs trust in a strict replay alone.
        let needs = is_outward(arg) && SettingScope::from_argument(arg) != SettingScope::Redaction;
        assert_eq!(is_refused, needs, "{name} --{setting}: {}", ended.stderr);
        if is_refused {
            ended.expect(2).says(&[&format!("loomrec.toml:2: {setting} = ")]);
            refused += 1;
        }
    }
    refused
}

/// A command line on which a setting of the file counts, and which makes a call if it can. `good` is
/// the address of an upstream that is no stranger's.
fn command_line<'a>(name: &'a str, setting: &str, good: &'a str) -> Vec<&'a str> {
    let (is_upstream, is_recording) = (setting == "upstream", setting == "recording");
    let mut line = vec![name];
    if !is_recording && name != "rerecord" {
        line.extend(["-r", if name == "record" { "new.json" } else { "run.json" }]);
    }
    match name {
        "replay" if is_upstream => line.extend(["--on-miss", "forward"]),
        "rerecord" if setting == "yes" => line.push("run.json"),
        "rerecord" => line.extend(["run.json", "--yes", "-o", "again.json"]),
        _ => {}
    }
    if !is_upstream && name != "replay" {
        line.extend(["--upstream", good]);
    }
    if name != "rerecord" && setting != "stop-with-stdin" {
        line.extend(calling());
    }
    line
}
