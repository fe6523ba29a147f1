//! Every flag of `replay`: typed, as a variable, and as a setting.

use clap::{Arg, ArgAction, Command};
use loomrec_arguments::{SettingScope, StrictEffect};
use sha2::{Digest as _, Sha256};

use super::{ALL, Outcome, Stage, UNREACHED, values};

/// The flags of every run, by the argument that a case may try in their place.
const BASE: [(&str, [&str; 2]); 3] = [
    ("recordings", ["-r", "run.json"]),
    ("receipt", ["--receipt", "receipt.json"]),
    ("fault", ["--fault", UNREACHED]),
];

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Typed,
    Variable,
    Setting,
}

fn replay() -> Command {
    let command = loomrec_arguments::command_line();
    let global: Vec<Arg> =
        command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let replay = command.find_subcommand("replay").expect("replay").clone();
    replay.args(global)
}

/// Whether an argument only prints something.
fn prints(arg: &Arg) -> bool {
    let action = arg.get_action();
    matches!(
        action,
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

/// Whether a flag can be given in this way.
fn can_be(arg: &Arg, origin: Origin) -> bool {
    match origin {
        Origin::Typed => arg.get_long().is_some(),
        Origin::Variable => arg.get_env().is_some(),
        Origin::Setting => {
            arg.get_env().is_some() && SettingScope::from_argument(arg) != SettingScope::CommandLine
        }
    }
}

/// Returns the line of a settings file.
fn setting(arg: &Arg, value: &str) -> String {
    let value = match arg.get_action() {
        ArgAction::SetTrue => "true".to_owned(),
        ArgAction::Append => format!("['{value}']"),
        _ => format!("'{value}'"),
    };
    format!("[replay]\n{} = {value}\n", arg.get_long().unwrap())
}

/// Returns the hash that makes a settings file trusted.
fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs one case: the program that calls what is not recorded, and one that makes no call.
fn run(stage: &Stage, arg: &Arg, value: &str, origin: Origin) -> [Outcome; 2] {
    let id = arg.get_id().as_str();
    let mut flags: Vec<String> = BASE
        .iter()
        .filter(|(of, _)| *of != id)
        .flat_map(|(_, words)| words.map(str::to_owned))
        .collect();
    let mut variables = Vec::new();
    let file = stage.scene.path("loomrec.toml");
    let long = arg.get_long().unwrap_or_default();
    match origin {
        Origin::Typed if matches!(arg.get_action(), ArgAction::SetTrue) => {
            flags.push(format!("--{long}"));
        }
        Origin::Typed => flags.push(format!("--{long}={value}")),
        Origin::Variable => {
            let name = arg.get_env().unwrap().to_string_lossy().into_owned();
            variables.push((name, value.to_owned()));
        }
        // The file is trusted, so that nothing but --strict is between it and the replay.
        Origin::Setting => {
            let text = setting(arg, value);
            variables.push(("LOOMREC_TRUST".to_owned(), sha256(&text)));
            std::fs::write(&file, text).unwrap();
        }
    }
    let outcomes =
        [stage.replay(&flags, &variables, &ALL), stage.replay(&flags, &variables, &["true"])];
    let _ = std::fs::remove_file(file);
    outcomes
}

/// Returns how the verdict names a value.
fn name_of(arg: &Arg, value: &str, origin: Origin) -> String {
    match (StrictEffect::from_argument(arg), origin) {
        // The verdict names the recording.
        (StrictEffect::Reported, _) => value.to_owned(),
        (_, Origin::Typed) => format!("--{}", arg.get_long().unwrap()),
        (_, Origin::Variable) => arg.get_env().unwrap().to_string_lossy().into_owned(),
        (_, Origin::Setting) => "loomrec.toml:2".to_owned(),
    }
}

/// Returns what is wrong with a case.
fn judge(stage: &Stage, arg: &Arg, value: &str, origin: Origin) -> Vec<String> {
    let effect = StrictEffect::from_argument(arg);
    let name = name_of(arg, value, origin);
    let outcomes = run(stage, arg, value, origin);
    let mut wrong = Vec::new();
    for outcome in &outcomes {
        let weakened = stage.weakened(outcome);
        let said = &outcome.finished.stderr;
        let is_named = match effect {
            StrictEffect::Reported => said.contains(&name),
            _ => outcome.names(&name),
        };
        let may_weaken = match origin {
            Origin::Typed => effect != StrictEffect::Harmless,
            _ => effect == StrictEffect::Reported,
        };
        if !(weakened.is_empty() || may_weaken && is_named) {
            wrong.push(format!("{}\n{said}", weakened.join(", ")));
        }
        // What counts only if it is typed is named wherever it comes from, if the run began.
        let began = matches!(outcome.finished.code, 0 | 1);
        let is_strict_value = effect.strict_value() == Some(value);
        let has_receipt = arg.get_id() != "receipt";
        let has_effect = match effect {
            StrictEffect::Harmless => false,
            StrictEffect::Named => origin != Origin::Typed,
            _ => !is_strict_value,
        };
        if began && has_receipt && has_effect && !is_named {
            wrong.push(format!("{name} is not named\n{said}"));
        }
    }
    let place = format!("{} {value:?} ({origin:?})", arg.get_id());
    wrong.iter().map(|why| format!("{place}: {why}")).collect()
}

/// Tries every flag in this way. Returns how many there are.
fn try_all(origin: Origin) -> usize {
    let stage = Stage::new();
    let replay = replay();
    let all = replay.get_arguments().filter(|arg| !prints(arg) && arg.get_id() != "strict");
    let (mut count, mut wrong) = (0, Vec::new());
    for arg in all {
        assert!(arg.get::<StrictEffect>().is_some(), "{} has no StrictEffect", arg.get_id());
        if !can_be(arg, origin) {
            continue;
        }
        count += 1;
        for value in values::of(arg) {
            wrong.extend(judge(&stage, arg, &value, origin));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n\n"));
    count
}

#[test]
fn no_typed_flag_weakens_a_strict_replay_unnamed() {
    let count = try_all(Origin::Typed);
    println!("flags of replay: {count}");
    assert!(count > 55, "{count}");
}

#[test]
fn no_variable_of_any_flag_weakens_a_strict_replay() {
    let count = try_all(Origin::Variable);
    println!("variables of replay: {count}");
    assert!(count > 55, "{count}");
}

#[test]
fn no_setting_of_any_flag_weakens_a_strict_replay() {
    let count = try_all(Origin::Setting);
    println!("settings of replay: {count}");
    assert!(count > 55, "{count}");
}

#[test]
fn no_table_of_the_settings_weakens_a_strict_replay() {
    let stage = Stage::new();
    let flags: Vec<String> = BASE.iter().flat_map(|(_, words)| words.map(str::to_owned)).collect();
    for table in [
        "[upstreams]\nopenai = \"http://127.0.0.1:1\"\n",
        "[presets.python3]\nrules = [\"user: umbrella in /city/Paris {{uuid}}\"]\n",
    ] {
        std::fs::write(stage.scene.path("loomrec.toml"), table).unwrap();
        let trusted = ("LOOMREC_TRUST".to_owned(), sha256(table));
        let outcome = stage.replay(&flags, &[trusted], &ALL);
        let weakened = stage.weakened(&outcome);
        assert!(weakened.is_empty(), "{table}: {weakened:?}\n{}", outcome.finished.stderr);
    }
}
