//! The values of flags under `--strict`, by the attribute of each flag ([`StrictEffect`]): what
//! weakens the replay counts only if it was typed. Values from the environment and from the settings
//! file are set aside and named.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::exit::CommandFailure;
use super::preset::Preset;
use super::settings::{Settings, adds_up, is_settable};
use loomrec_arguments::{NORMALIZE, ReplayArgs, SetAside, StrictEffect, ignored_rule};

/// The name of the command.
const REPLAY: &str = "replay";

/// The values of a strict replay's flags.
pub(super) struct StrictFlags<'a> {
    /// The definition of the command, without settings.
    plain: &'a Command,
    matches: &'a ArgMatches,
    settings: &'a Settings,
}

/// A value that was not typed.
struct UntypedValue {
    value: String,
    /// The variable, or the line of the settings file.
    from: String,
    is_variable: bool,
}

impl<'a> StrictFlags<'a> {
    /// Returns the flags of a command line that asks for a strict replay. `plain` is the definition
    /// without the settings of the project, `matches` what was parsed with them.
    pub(super) fn from_matches(
        plain: &'a Command,
        matches: &'a ArgMatches,
        settings: &'a Settings,
    ) -> Option<Self> {
        let (_, matches) = matches.subcommand().filter(|(name, _)| *name == REPLAY)?;
        let plain = plain.find_subcommand(REPLAY).filter(|_| matches.get_flag("strict"))?;
        Some(Self { plain, matches, settings })
    }

    /// Refuses a typed flag that says the opposite of `--strict`.
    ///
    /// # Errors
    /// Names the flag.
    pub(super) fn refuse_contradictions(&self) -> Result<(), CommandFailure> {
        let contradicts = |arg: &&Arg| {
            matches!(StrictEffect::from_argument(arg), StrictEffect::Contradicts { .. })
                && self.typed_values(arg).iter().any(|value| has_effect(arg, value))
        };
        match self.given_arguments().find(contradicts) {
            None => Ok(()),
            Some(arg) => Err(CommandFailure::usage(format!(
                "--strict and --{} contradict each other: give one of them",
                long_name(arg)
            ))),
        }
    }

    /// Returns the command line without the variables and the settings that have to be typed.
    /// `command` is the definition with the settings of the project.
    pub(super) fn typed_only(&self, command: Command) -> Command {
        command.mut_subcommand(REPLAY, |sub| {
            sub.mut_args(|arg| match self.must_be_typed(&arg) {
                true => self.without_other_sources(arg),
                false => arg,
            })
        })
    }

    /// Whether the values of the flag with this long name have to be typed.
    pub(super) fn takes_no_setting(&self, name: &str) -> bool {
        self.given_arguments().any(|arg| arg.get_long() == Some(name) && self.must_be_typed(arg))
    }

    /// Returns what is to be said of the flags.
    pub(super) fn set_aside(&self) -> SetAside {
        let mut told = SetAside::default();
        for arg in self.given_arguments() {
            let effect = StrictEffect::from_argument(arg);
            let untyped = self.untyped_values(arg);
            if effect == StrictEffect::Named {
                told.untyped.extend(untyped.first().map(|value| setting_source(arg, value)));
            } else if let StrictEffect::AddsRule { prefix } = effect {
                let rule = |value: &str| match prefix {
                    "" => ignored_rule(value),
                    _ => format!("{prefix}{value}"),
                };
                told.rules.extend(untyped.into_iter().map(|it| (rule(&it.value), it.from)));
            } else if self.must_be_typed(arg) {
                let is_typed = self.typed_values(arg).iter().any(|value| has_effect(arg, value));
                told.typed.extend(is_typed.then(|| format!("--{}", long_name(arg))));
                match is_of_names(arg) {
                    true => told.settings.extend(untyped.iter().map(|it| shown_name(arg, it))),
                    false => {
                        told.settings.extend(untyped.first().map(|it| setting_source(arg, it)))
                    }
                }
            }
        }
        told
    }

    /// Returns the arguments that have a value.
    fn given_arguments(&self) -> impl Iterator<Item = &'a Arg> {
        let is_asked = |arg: &&Arg| {
            !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            )
        };
        self.plain.get_arguments().filter(is_asked)
    }

    fn must_be_typed(&self, arg: &Arg) -> bool {
        StrictEffect::from_argument(arg).must_be_typed(self.matches.contains_id("cmd"))
    }

    /// Returns an argument as it is defined, without its variable.
    fn without_other_sources(&self, arg: Arg) -> Arg {
        let defined = self.plain.get_arguments().find(|known| known.get_id() == arg.get_id());
        defined.cloned().unwrap_or(arg).env(None::<&str>)
    }

    /// Returns the values of an argument, if they come from this source.
    fn values_from(&self, arg: &Arg, source: ValueSource) -> Vec<String> {
        let id = arg.get_id().as_str();
        if self.matches.value_source(id) != Some(source) {
            return Vec::new();
        }
        if is_switch(arg) {
            return vec![self.matches.get_flag(id).to_string()];
        }
        let raw = self.matches.get_raw(id).into_iter().flatten();
        raw.map(|value| value.to_string_lossy().into_owned()).collect()
    }

    /// Returns the typed values of an argument.
    fn typed_values(&self, arg: &Arg) -> Vec<String> {
        self.values_from(arg, ValueSource::CommandLine)
    }

    /// Returns the values of an argument that were not typed and mean something.
    fn untyped_values(&self, arg: &Arg) -> Vec<UntypedValue> {
        let typed = self.typed_values(arg);
        let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
        let of_environment =
            self.values_from(arg, ValueSource::EnvVariable).into_iter().map(|value| {
                let from = variable.clone().unwrap_or_default();
                UntypedValue { value, from, is_variable: true }
            });
        let in_file = self.settings.find_setting(REPLAY, long_name(arg)).filter(|_| {
            let source = self.matches.value_source(arg.get_id().as_str());
            let is_default = source.is_none_or(|source| source == ValueSource::DefaultValue);
            is_settable(arg) && (is_default || adds_up(long_name(arg)))
        });
        let of_file = in_file.into_iter().flat_map(|entry| {
            let values = entry.values.iter().zip(self.settings.value_places(entry));
            values.map(|(value, from)| UntypedValue {
                value: value.clone(),
                from,
                is_variable: false,
            })
        });
        let all = of_environment.chain(of_file);
        all.filter(|it| has_effect(arg, &it.value) && !typed.contains(&it.value)).collect()
    }
}

/// Whether a value of an argument has its effect: not one that strict has anyway, and not the value
/// of a switch that is off.
fn has_effect(arg: &Arg, value: &str) -> bool {
    match is_switch(arg) {
        true => value == "true",
        false => {
            !value.is_empty() && StrictEffect::from_argument(arg).strict_value() != Some(value)
        }
    }
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Whether the values of a flag are names, which are shown.
fn is_of_names(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
        && arg.get_value_names().is_some_and(|names| names.iter().eq(["NAME"]))
}

fn long_name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

/// Returns a setting and its source, without its value, which may hold more than a name.
fn setting_source(arg: &Arg, value: &UntypedValue) -> String {
    match value.is_variable {
        true => value.from.clone(),
        false => format!("{} ({})", long_name(arg), value.from),
    }
}

fn shown_name(arg: &Arg, UntypedValue { value, from, .. }: &UntypedValue) -> String {
    format!("{} {value} ({from})", long_name(arg))
}

/// Sets the rules of a preset of the project aside if the replay is strict. Returns what is left of
/// it. A recording that was made with the preset has its rules.
pub fn preset_aside(args: &mut ReplayArgs, preset: Preset) -> Preset {
    if !args.strict || !preset.is_of_project {
        return preset;
    }
    let from = format!("presets.{}", preset.name);
    let rules = preset.rules.iter().map(|rule| (format!("{NORMALIZE}{rule}"), from.clone()));
    args.set_aside.rules.extend(rules);
    Preset { rules: &[], ..preset }
}
