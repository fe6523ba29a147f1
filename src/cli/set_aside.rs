//! The settings that `--strict` sets aside: those from the environment or the settings file that
//! would let an unrecorded call be answered, or leave a run untested. Typed flags that contradict
//! `--strict` are refused earlier.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::args::{FaultArgs, OnMissFlag, RepeatPolicy, ReplayArgs, SetAside, ToolResultPolicy};
use super::preset::Preset;
use super::settings::Settings;

/// The prefix of a rule that treats a query parameter as a credential, and so leaves it out of
/// identity.
pub const PARAMETER: &str = "parameter ";

/// The prefix of a rule for what clients make anew.
pub const NORMALIZE: &str = "normalize ";

/// Sets aside what weakens `--strict` and was not typed. `matches` are those of the `replay`
/// command.
pub fn set_aside(args: &mut ReplayArgs, matches: &ArgMatches, settings: &Settings) {
    if !args.strict {
        return;
    }
    let from = |name: &str| origin(matches, settings, name);
    let mut removed = answers_aside(args, from);
    removed.extend(faults_aside(&mut args.serve.trouble, from));
    let names = untyped(&mut args.serve.no_env, matches, settings, "no_env");
    removed.extend(names.into_iter().map(|(name, at)| format!("no-env {name} ({at})")));
    let identity = &mut args.serve.identity;
    let mut rules = untyped(&mut identity.ignore, matches, settings, "ignore");
    let headers = untyped(&mut identity.ignore_header, matches, settings, "ignore_header");
    rules.extend(
        headers.into_iter().map(|(name, at)| (format!("header {}", name.to_ascii_lowercase()), at)),
    );
    for (list, name) in
        [(&mut identity.normalize, "normalize"), (&mut identity.normalize_text, "normalize_text")]
    {
        let untyped = untyped(list, matches, settings, name);
        rules.extend(untyped.into_iter().map(|(rule, at)| (format!("{NORMALIZE}{rule}"), at)));
    }
    let params = untyped(&mut identity.credential_param, matches, settings, "credential_param");
    rules.extend(params.into_iter().map(|(name, at)| (format!("{PARAMETER}{name}"), at)));
    if args.serve.identity.tool_results == Some(ToolResultPolicy::ByCall) {
        let from = from("tool_results");
        removed.extend(from.inspect(|_| args.serve.identity.tool_results = None));
    }
    args.set_aside = SetAside { rules, settings: removed };
}

/// Sets the rules of a preset of the project aside if the replay is strict. Returns what is left of
/// it. A recording that was made with the preset has its rules.
pub fn preset_aside(args: &mut ReplayArgs, preset: Preset) -> Preset {
    if !args.strict || preset.version.is_some() {
        return preset;
    }
    let from = format!("presets.{}", preset.name);
    let rules = preset.rules.iter().map(|rule| (format!("{NORMALIZE}{rule}"), from.clone()));
    args.set_aside.rules.extend(rules);
    Preset { rules: &[], ..preset }
}

/// Sets aside what answers calls that are not recorded, leads them elsewhere, or lets a run pass
/// that tests nothing.
fn answers_aside(args: &mut ReplayArgs, from: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut removed = Vec::new();
    if args.repeat.is_some_and(|repeat| repeat != RepeatPolicy::Error) {
        removed.extend(from("repeat").inspect(|_| args.repeat = None));
    }
    if args.on_miss.is_some_and(|policy| policy != OnMissFlag::Error) {
        removed.extend(from("on_miss").inspect(|_| args.on_miss = None));
    }
    if args.allow_default_fallback {
        let from = from("allow_default_fallback");
        removed.extend(from.inspect(|_| args.allow_default_fallback = false));
    }
    if args.allow_empty {
        removed.extend(from("allow_empty").inspect(|_| args.allow_empty = false));
    }
    if args.no_guard {
        removed.extend(from("no_guard").inspect(|_| args.no_guard = false));
    }
    if args.script.is_some() {
        removed.extend(from("script").inspect(|_| args.script = None));
    }
    // CMD would send its calls there.
    if args.serve.public_url.is_some() && !args.serve.cmd.is_empty() {
        removed.extend(from("public_url").inspect(|_| args.serve.public_url = None));
    }
    removed
}

/// Sets aside faults, which send unrecorded answers, and the permission for rules that never apply.
fn faults_aside(flags: &mut FaultArgs, from: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut removed = Vec::new();
    if !flags.faults.is_empty() {
        removed.extend(from("faults").inspect(|_| flags.faults.clear()));
    }
    if !flags.fault.is_empty() {
        removed.extend(from("fault").inspect(|_| flags.fault.clear()));
    }
    if !flags.chaos.is_empty() {
        removed.extend(from("chaos").inspect(|_| flags.chaos.clear()));
    }
    let rates = [
        ("chaos_drop", &mut flags.chaos_drop),
        ("chaos_malformed", &mut flags.chaos_malformed),
        ("chaos_disconnect", &mut flags.chaos_disconnect),
        ("chaos_rate_limit", &mut flags.chaos_rate_limit),
        ("chaos_latency", &mut flags.chaos_latency),
    ];
    for (name, rate) in rates.into_iter().filter(|(_, rate)| rate.is_some()) {
        removed.extend(from(name).inspect(|_| *rate = None));
    }
    if flags.allow_unfired {
        removed.extend(from("allow_unfired").inspect(|_| flags.allow_unfired = false));
    }
    removed
}

/// Removes the values from a list that were not typed. Returns them, each with its source.
fn untyped(
    list: &mut Vec<String>,
    matches: &ArgMatches,
    settings: &Settings,
    name: &str,
) -> Vec<(String, String)> {
    let typed: Vec<String> = match matches.value_source(name) {
        Some(ValueSource::CommandLine) => {
            matches.get_many(name).into_iter().flatten().cloned().collect()
        }
        _ => Vec::new(),
    };
    let file = settings.of("replay", &name.replace('_', "-"));
    let place = |value: &String| match file.filter(|entry| entry.values.contains(value)) {
        Some(entry) => settings.place(entry),
        None => format!("LOOMREC_{}", name.to_ascii_uppercase()),
    };
    let given = std::mem::replace(list, typed);
    let untyped = given.into_iter().filter(|value| !value.is_empty() && !list.contains(value));
    untyped.map(|value| (place(&value), value)).map(|(at, value)| (value, at)).collect()
}

/// Returns the variable or the line of the settings file that a value comes from, or `None` if it
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
