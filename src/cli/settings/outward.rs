//! The settings that need the user's trust: those that lead calls, keys or recordings elsewhere, or
//! let others call.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::Settings;
use super::apply::{adds_up, upstream_name};
use super::default_recording::{is_default_used, recording_setting};
use super::pointed_url::pointed_url;
use super::setting::Setting;
use super::setting_type::{SettingType, flag_type, is_settable};
use crate::args::{
    DetailedChoice, OnMissFlag, RecordMode, SettingScope, StrictEffect, TrustedSetting,
};
use crate::serve_setup::{read_addresses, without_secrets};
use loomrec_provider::directory::is_provider_host;
use loomrec_store::RecordingLocation;
use url::{Host, Url};

/// The command line of a command, as far as it decides which settings are in force.
#[derive(Clone, Copy)]
pub struct CommandLine<'a> {
    /// The definition of all commands.
    pub definition: &'a Command,
    /// The name of the command.
    pub name: &'a str,
    /// What was given to the command.
    pub matches: &'a ArgMatches,
}

impl CommandLine<'_> {
    /// Whether the command may call upstreams.
    fn calls_upstreams(&self) -> bool {
        match self.name {
            "replay" => self
                .flag_value::<DetailedChoice<OnMissFlag>>("on_miss")
                .is_some_and(|answer| answer.word == OnMissFlag::Forward),
            "record" => self.flag_value("mode") != Some(&RecordMode::None),
            _ => true,
        }
    }

    /// Returns the value of a flag.
    fn flag_value<T: Clone + Send + Sync + 'static>(&self, id: &str) -> Option<&T> {
        self.matches.try_get_one(id).ok().flatten()
    }
}

/// A setting of a file that needs trust.
pub struct OutwardSetting {
    /// The setting, with one of its values.
    pub setting: TrustedSetting,
    /// What the flag does, from its help.
    pub help: String,
}

/// The settings that need trust, while they are collected.
struct OutwardSettings<'a> {
    settings: &'a Settings,
    /// Whether they are for a strict replay.
    is_strict: bool,
    /// The names of upstreams whose addresses replace those of the file.
    given: Vec<Option<&'a str>>,
    found: Vec<OutwardSetting>,
}

/// Returns all settings of the file that need trust, for any command, in the order of the file.
pub fn outward_settings(settings: &Settings, definition: &Command) -> Vec<OutwardSetting> {
    let mut all =
        OutwardSettings { settings, is_strict: true, given: Vec::new(), found: Vec::new() };
    let mut entries: Vec<&Setting> = settings.entries().iter().collect();
    entries.sort_by_key(|entry| entry.lines.first());
    for entry in entries {
        let commands = definition.get_subcommands().filter(|sub| match &entry.command {
            Some(name) => sub.get_name() == name,
            None => true,
        });
        let mut args = commands.flat_map(Command::get_arguments).filter(|arg| is_of(arg, entry));
        let needs = |arg: &&Arg| entry.values.iter().any(|value| needs_trust(arg, value, true));
        if let Some(arg) = args.find(needs) {
            all.add(entry, arg);
        }
    }
    all.found
}

/// Returns the settings of the file that need trust and are in force on this command line.
pub fn outward_settings_in_force(
    settings: &Settings,
    line: &CommandLine<'_>,
) -> Vec<OutwardSetting> {
    let Some(command) = line.definition.find_subcommand(line.name) else { return Vec::new() };
    let given = line.matches.try_get_many::<String>("upstream").ok().flatten();
    let mut all = OutwardSettings {
        settings,
        is_strict: is_given(line.matches, "strict"),
        given: given.into_iter().flatten().map(|text| upstream_name(text)).collect(),
        found: Vec::new(),
    };
    for arg in command.get_arguments().filter(|arg| is_settable(arg) && is_in_force(arg, line)) {
        if let Some(entry) = settings.find_setting(line.name, arg.get_long().unwrap_or_default()) {
            all.add(entry, arg);
        }
    }
    // These commands use settings of others.
    if line.name == "doctor" && is_given(line.matches, "online") {
        for (name, entry) in settings.upstream_settings() {
            if let Some(arg) = find_argument(line.definition, name, &entry.name) {
                all.add(entry, arg);
            }
        }
    }
    if is_default_used(line.name, line.matches)
        && let Some(entry) = recording_setting(settings)
        && let Some(arg) = find_argument(line.definition, "replay", &entry.name)
    {
        all.add(entry, arg);
    }
    all.found
}

impl OutwardSettings<'_> {
    /// Adds the values of a setting that need trust.
    fn add(&mut self, entry: &Setting, arg: &Arg) {
        let is_address = SettingScope::from_argument(arg) == SettingScope::UpstreamAddress;
        for (value, place) in entry.values.iter().zip(self.settings.value_places(entry)) {
            let is_replaced = is_address && self.given.contains(&upstream_name(value));
            if is_replaced || !needs_trust(arg, value, self.is_strict) {
                continue;
            }
            let value = match pointed_url(Path::new(""), value) {
                _ if is_address => without_secrets(value),
                Some(url) => format!("{value} (points to {url})"),
                None => value.clone(),
            };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let setting = TrustedSetting { name: entry.name.clone(), value, place };
            if !self.found.iter().any(|known| known.setting == setting) {
                self.found.push(OutwardSetting { setting, help });
            }
        }
    }
}

/// Whether the file's value of a flag counts on this command line: nothing else gives the flag a
/// value, or the values add up, and `--strict` does not set it aside.
fn is_in_force(arg: &Arg, line: &CommandLine<'_>) -> bool {
    let id = arg.get_id().as_str();
    let is_default = || line.matches.value_source(id) == Some(ValueSource::DefaultValue);
    let has_command = line.matches.try_contains_id("cmd").unwrap_or(false);
    let is_aside = is_given(line.matches, "strict")
        && StrictEffect::from_argument(arg).must_be_typed(has_command);
    if SettingScope::from_argument(arg) == SettingScope::UpstreamAddress && !line.calls_upstreams()
    {
        return false;
    }
    !is_aside && (adds_up(arg.get_long().unwrap_or_default()) || is_default())
}

/// Whether a value of a flag needs trust.
fn needs_trust(arg: &Arg, value: &str, is_strict: bool) -> bool {
    match SettingScope::from_argument(arg) {
        SettingScope::Run
        | SettingScope::InputFile
        | SettingScope::OutputFile { .. }
        | SettingScope::CommandLine => false,
        SettingScope::Recording => RecordingLocation::from(Path::new(value)).is_remote(),
        SettingScope::UpstreamAddress => leads_elsewhere(value),
        SettingScope::Outside { unless } => {
            let is_off = flag_type(arg) == SettingType::Switch && value == "false";
            !is_off && unless != Some(value)
        }
        SettingScope::Redaction => is_strict,
    }
}

/// Whether an address of an upstream is neither a provider's own nor one of this machine. One that
/// cannot be read counts as such.
fn leads_elsewhere(value: &str) -> bool {
    let Ok(addresses) = read_addresses(&[value.to_owned()]) else { return true };
    !addresses.iter().all(|(_, url)| is_of_this_machine(url) || is_public(url))
}

fn is_of_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_public(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https" && url.port().is_none() && is_provider_host(host)
}

/// Whether a flag is the one that a setting is for.
fn is_of(arg: &Arg, entry: &Setting) -> bool {
    is_settable(arg) && arg.get_long() == Some(entry.name.as_str())
}

/// Returns the flag of a command.
fn find_argument<'a>(definition: &'a Command, command: &str, name: &str) -> Option<&'a Arg> {
    let command = definition.find_subcommand(command)?;
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// Whether a switch is on. A command that does not have it counts as off.
fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.try_get_one::<bool>(name).ok().flatten() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_leads_elsewhere_unless_it_is_a_providers_or_this_machines() {
        for value in [
            "openai=https://api.openai.com/v1",
            "gateway=https://openrouter.ai/api",
            "https://eu.api.openai.com",
            "openai=http://127.0.0.1:9",
            "openai=http://localhost:9/v1",
            "http://[::1]:9",
            "http://2130706433",
        ] {
            assert!(!leads_elsewhere(value), "{value}");
        }
        for value in [
            "openai=http://api.openai.com",
            "openai=https://api.openai.com:444",
            "openai=https://api.openai.com@gw.example",
            "openai=https://api.openai.com.gw.example",
            "openai=https://mine.openai.azure.com",
            "openai=http://0.0.0.0:9",
            "http://[::ffff:127.0.0.1]:9",
            "openai=http://localhost.example",
            "openai=http://10.0.0.1",
            "openai=gw",
            "",
        ] {
            assert_eq!(leads_elsewhere(value), !value.is_empty(), "{value}");
        }
    }
}
