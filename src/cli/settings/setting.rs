//! One setting: for which command it is, its values, and the line it stands in.

/// One setting in a file.
#[derive(Debug)]
pub struct Setting {
    /// The command it is for; `None` for all.
    pub command: Option<String>,
    /// The flag's name, without dashes.
    pub name: String,
    /// What it is set to, a text for each item of a list.
    pub values: Vec<String>,
    /// The line it stands in, counted from 1.
    pub line: usize,
}
