//! The reader of `--script`.

use std::path::Path;

use super::args::{ReplayArgs, ServeArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output_target;
use loomrec_script::{Script, ScriptNotation};

/// The most bytes of a script.
const LARGEST: u64 = 64 << 20;

/// Reads a script: as YAML if the file's extension says so, otherwise as JSON.
///
/// # Errors
/// A file that cannot be read, is not a script, or would be overwritten.
pub fn read(path: &Path, args: &ServeArgs) -> Result<Script, CommandFailure> {
    refuse_overwriting(path, "--script", args)?;
    let failed = |why: &dyn std::fmt::Display| {
        CommandFailure::usage(format!("failed to read the script {}: {why}", path.display()))
    };
    let text = loomrec_os::read_input(path, LARGEST).map_err(|error| failed(&error))?;
    Script::parse(&text, notation(path)).map_err(|error| failed(&error))
}

/// Refuses a script that would answer beside recordings in a strict replay, unless that is allowed.
///
/// # Errors
/// `--strict` with recordings and a script, without `--allow-script`.
pub fn refuse_beside_strict(args: &ReplayArgs) -> Result<(), CommandFailure> {
    if args.strict && args.script.is_some() && !args.recordings.is_empty() && !args.allow_script {
        return Err(CommandFailure::usage(
            "--strict, --recording and --script: a strict replay answers from recordings alone, and \
             a script is written by hand; --allow-script lets it answer what the recordings do not"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Refuses a journal, receipt or report that would overwrite a file that is read.
///
/// # Errors
/// Two flags that name the same file.
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

/// Returns the notation of a file by its extension.
pub fn notation(path: &Path) -> ScriptNotation {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match ["yaml", "yml"].iter().any(|yaml| extension.eq_ignore_ascii_case(yaml)) {
        true => ScriptNotation::Yaml,
        false => ScriptNotation::Json,
    }
}
