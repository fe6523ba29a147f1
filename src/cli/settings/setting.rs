//! One setting: its command, its values, and their lines in the file.

/// One setting in a file.
#[derive(Debug)]
pub struct Setting {
    /// The command that it applies to. `None` means all commands.
    pub command: Option<String>,
    /// The flag's name, without dashes.
    pub name: String,
    /// The values, one for each item of a list.
    pub values: Vec<String>,
    /// The line of each value's name in the file, counted from 1. Not empty, even if there is no
    /// value.
    pub lines: Vec<usize>,
}
