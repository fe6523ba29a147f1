//! What `--strict` sets aside: whatever the environment or the project's settings say
//! that would let a call be answered which is not recorded, or leave a run untested.
//! Typed flags that contradict it are refused before.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::args::{MissPolicy, RepeatPolicy, ReplayArgs};
use super::settings::Settings;

/// What was set aside, each with the place it comes from.
#[derive(Clone, Debug, Default)]
pub struct SetAside {
    /// Rules, by their pointers: one that stands in the recording is in force all the
    /// same.
    pub ignore: Vec<(String, String)>,
    /// All else, in words.
    pub settings: Vec<String>,
}

/// Sets aside what weakens `--strict` and was not typed. `matches` are those of
/// `replay`.
pub fn set_aside(args: &mut ReplayArgs, matches: &ArgMatches, settings: &Settings) {
    if !args.strict {
        return;
    }
    let from = |name: &str| origin(matches, settings, name);
    let mut told = Vec::new();
    if args.repeat.is_some_and(|repeat| repeat != RepeatPolicy::Error) {
        told.extend(from("repeat").inspect(|_| args.repeat = None));
    }
    if args.on_miss.is_some_and(|policy| policy != MissPolicy::Error) {
        told.extend(from("on_miss").inspect(|_| args.on_miss = None));
    }
    if args.allow_default_fallback {
        let from = from("allow_default_fallback");
        told.extend(from.inspect(|_| args.allow_default_fallback = false));
    }
    if args.allow_empty {
        told.extend(from("allow_empty").inspect(|_| args.allow_empty = false));
    }
    if args.script.is_some() {
        told.extend(from("script").inspect(|_| args.script = None));
    }
    let typed: Vec<String> = match matches.value_source("ignore") {
        Some(ValueSource::CommandLine) => {
            matches.get_many("ignore").into_iter().flatten().cloned().collect()
        }
        _ => Vec::new(),
    };
    let file = settings.of("replay", "ignore");
    let place = |pointer: &String| match file.filter(|entry| entry.values.contains(pointer)) {
        Some(entry) => settings.place(entry),
        None => "LOOMREC_IGNORE".to_owned(),
    };
    let given = std::mem::replace(&mut args.serve.ignore, typed);
    let untyped = given.into_iter().filter(|pointer| !args.serve.ignore.contains(pointer));
    let ignore = untyped.map(|pointer| (place(&pointer), pointer)).map(|(at, it)| (it, at));
    args.set_aside = SetAside { ignore: ignore.collect(), settings: told };
}

/// The variable or the line of the settings that a value comes from; `None` where it
/// was typed.
fn origin(matches: &ArgMatches, settings: &Settings, name: &str) -> Option<String> {
    let flag = name.replace('_', "-");
    match matches.value_source(name)? {
        ValueSource::EnvVariable => Some(format!("LOOMREC_{}", name.to_ascii_uppercase())),
        ValueSource::DefaultValue => {
            let entry = settings.of("replay", &flag)?;
            Some(format!("{flag} ({})", settings.place(entry)))
        }
        _ => None,
    }
}
