//! Reads `--script`.

use std::path::Path;

use super::args::ServeArgs;
use super::exit::CommandFailure;
use super::output_target;
use crate::replay::{Script, ScriptNotation};

/// Reads a script: YAML in a file whose name says so, else JSON.
///
/// # Errors
/// A file that cannot be read, or is no script; or one that would be written over.
pub fn read(path: &Path, args: &ServeArgs) -> Result<Script, CommandFailure> {
    refuse_overwriting(path, "--script", args)?;
    let failed = |why: &dyn std::fmt::Display| {
        CommandFailure::usage(format!("failed to read the script {}: {why}", path.display()))
    };
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    Script::parse(&text, notation(path)).map_err(|error| failed(&error))
}

/// Refuses a journal or a receipt that would take the place of a file that is read.
///
/// # Errors
/// Two flags that name one file.
pub fn refuse_overwriting(path: &Path, read: &str, args: &ServeArgs) -> Result<(), CommandFailure> {
    let written = [
        ("--journal", &args.journal),
        ("--receipt", &args.receipt),
        ("--junit", &args.trouble.junit),
    ];
    for (flag, file) in written {
        if file.as_ref().is_some_and(|file| output_target::real(file) == output_target::real(path))
        {
            return Err(CommandFailure::usage(format!(
                "{flag} and {read} both name {}: give each a file of its own",
                path.display()
            )));
        }
    }
    Ok(())
}

/// How a file of this name is written.
pub fn notation(path: &Path) -> ScriptNotation {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match ["yaml", "yml"].iter().any(|yaml| extension.eq_ignore_ascii_case(yaml)) {
        true => ScriptNotation::Yaml,
        false => ScriptNotation::Json,
    }
}
