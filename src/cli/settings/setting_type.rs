//! The types of settings, and which flags can be settings.

use clap::{Arg, ArgAction};

use crate::args::SettingScope;

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

/// Whether a flag can be set in a file: it has an environment variable, and its scope permits it.
pub fn is_settable(arg: &Arg) -> bool {
    let is_named = arg.get_long().is_some() && arg.get_env().is_some();
    is_named && SettingScope::from_argument(arg) != SettingScope::CommandLine
}

pub(super) fn flag_type(arg: &Arg) -> SettingType {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => SettingType::Switch,
        ArgAction::Append => SettingType::Many,
        _ => SettingType::One,
    }
}
