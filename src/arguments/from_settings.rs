//! What a command has from the project's settings file, and its user must be told.

/// What a command has from a settings file.
#[derive(Clone, Debug, Default)]
pub struct FromSettings {
    /// The settings in force that hold because the user trusts the file.
    pub trusted: Vec<TrustedSetting>,
    /// Whether `quiet` comes from the file. It then hides nothing that says where calls go, what is
    /// in force, and what is uploaded.
    pub is_quiet: bool,
}

/// A setting that holds because the user trusts its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedSetting {
    /// The name of its flag.
    pub name: String,
    /// Its value, without passwords.
    pub value: String,
    /// Its place: the file and the line.
    pub place: String,
}

impl TrustedSetting {
    /// Returns the setting and its place, for people.
    #[must_use]
    pub fn display_text(&self) -> String {
        let Self { name, value, place } = self;
        match value.as_str() {
            "true" => format!("{name} ({place})"),
            _ => format!("{name} {value} ({place})"),
        }
    }
}
