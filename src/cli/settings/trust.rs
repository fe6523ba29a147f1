//! The check of trust: settings that lead elsewhere hold only from a file that the user trusts.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::Settings;
use super::outward::{CommandLine, OutwardSetting, outward_settings_in_force};
use crate::args::{Command, FromSettings, TrustGrant, TrustedSetting};
use crate::exit::CommandFailure;
use crate::trust_store::{TrustStore, TrustedItem, TrustedSettings};

/// Whether the user trusts a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsTrust {
    /// The file is trusted.
    Trusted,
    /// The file is not trusted, but was when it had another content.
    Changed,
    /// The file is not trusted.
    Untrusted,
}

impl SettingsTrust {
    /// Returns the word for it, for people and for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Changed => "changed",
            Self::Untrusted => "untrusted",
        }
    }

    /// Returns whether the user trusts the file, by the command line, the environment or the user's
    /// store.
    pub fn from_settings(settings: &Settings) -> Self {
        let is_given = |(_, sha256): (&Path, &str)| {
            let is_it =
                |hash: &TrustGrant| matches!(hash, TrustGrant::Settings(hash) if hash == sha256);
            settings.granted.iter().any(is_it)
        };
        match settings.file_identity().is_some_and(is_given) {
            true => Self::Trusted,
            false => Self::of_store(settings),
        }
    }

    /// Returns whether the user trusts the file, by the user's store alone.
    pub fn of_store(settings: &Settings) -> Self {
        let Some((path, sha256)) = settings.file_identity() else { return Self::Untrusted };
        let Some(store) = TrustStore::of_user() else { return Self::Untrusted };
        let item = TrustedSettings { path: path.to_owned(), sha256: sha256.to_owned() };
        if store.is_trusted(&TrustedItem::Settings(item)) {
            return Self::Trusted;
        }
        let known = store.items().unwrap_or_default();
        let is_known = known.iter().any(|stored| stored.item.is_of_file(path));
        if is_known { Self::Changed } else { Self::Untrusted }
    }
}

/// Refuses a command line on which settings are in force that lead elsewhere, if the user does not
/// trust their file. Otherwise adds them to the command, which names them.
///
/// # Errors
/// Names each setting, and the command that mends it.
pub fn require_trust(
    command: &mut Command,
    settings: &Settings,
    line: &CommandLine<'_>,
) -> Result<(), CommandFailure> {
    let outward = outward_settings_in_force(settings, line);
    if !outward.is_empty() {
        let trust = SettingsTrust::from_settings(settings);
        if trust != SettingsTrust::Trusted {
            return Err(untrusted_failure(settings, trust, &outward));
        }
    }
    if let Some(from_settings) = from_settings(command) {
        let trusted = outward.into_iter().map(|outward| outward.setting);
        *from_settings = FromSettings {
            trusted: trusted.collect(),
            is_quiet: is_quiet_by_settings(settings, line.matches),
        };
    }
    Ok(())
}

/// Returns the place of what comes from the settings, in the commands that name it.
fn from_settings(command: &mut Command) -> Option<&mut FromSettings> {
    match command {
        Command::Record(args) => Some(&mut args.serve.from_settings),
        Command::Replay(args) => Some(&mut args.serve.from_settings),
        Command::Rerecord(args) => Some(&mut args.from_settings),
        _ => None,
    }
}

/// Whether the settings file alone makes a command quiet.
fn is_quiet_by_settings(settings: &Settings, matches: &ArgMatches) -> bool {
    let is_quiet = matches.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|it| *it);
    settings.path.is_some()
        && is_quiet
        && matches.value_source("quiet") == Some(ValueSource::DefaultValue)
}

/// Names the settings that hold because the user trusts their file. `None` if there are none.
pub fn trusted_text(trusted: &[TrustedSetting]) -> Option<String> {
    let texts: Vec<String> = trusted.iter().map(TrustedSetting::display_text).collect();
    (!texts.is_empty()).then(|| format!("settings of a trusted file: {}", texts.join(", ")))
}

/// Returns the failure that names what a file asks for.
fn untrusted_failure(
    settings: &Settings,
    trust: SettingsTrust,
    outward: &[OutwardSetting],
) -> CommandFailure {
    let path = settings.path.as_deref().unwrap_or(Path::new(super::NAME));
    let path = path.display();
    let why = match trust {
        SettingsTrust::Changed => "it has changed since you trusted it",
        _ => "nobody has trusted it on this machine",
    };
    let lines: String = outward
        .iter()
        .map(|outward| {
            let setting = &outward.setting;
            format!("\n  {}: {} = {:?}", setting.place, setting.name, setting.value)
        })
        .collect();
    let hash = settings.file_identity().map_or("", |(_, sha256)| sha256);
    let is_hash = |grant: &TrustGrant| matches!(grant, TrustGrant::Settings(_));
    let other = match settings.granted.iter().any(is_hash) {
        false => "",
        true => " (the hash that is given is that of another content)",
    };
    CommandFailure::usage(format!(
        "{path} leads calls, keys or recordings elsewhere, or lets others call, and {why}:{lines}\n\
         Read these settings, then run `loomrec trust` once, or leave them out. In CI, set \
         LOOMREC_TRUST={hash}{other}"
    ))
}
