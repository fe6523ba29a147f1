//! The types of settings, and which flags can be settings.

use clap::{Arg, ArgAction};

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingType {
    /// `true` or `false`.
    Switch,
    /// One value.
    One,
    /// Any number of values.
    Many,
}

/// Whether a flag can be set in a file: it has an environment variable, and it is not a secret.
pub fn settable(arg: &Arg) -> bool {
    let named = arg.get_long().is_some_and(|long| long != "config");
    named && arg.get_env().is_some() && !arg.is_hide_env_values_set()
}

pub(super) fn kind(arg: &Arg) -> SettingType {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => SettingType::Switch,
        ArgAction::Append => SettingType::Many,
        _ => SettingType::One,
    }
}
