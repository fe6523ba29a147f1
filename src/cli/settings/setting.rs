//! One setting: its command, its values, and its line in the file.

/// One setting in a file.
#[derive(Debug)]
pub struct Setting {
    /// The command that it applies to. `None` means all commands.
    pub command: Option<String>,
    /// The flag's name, without dashes.
    pub name: String,
    /// The values, one for each item of a list.
    pub values: Vec<String>,
    /// The line in the file, counted from 1.
    pub line: usize,
}
