//! The reader of `--script`.

use std::io;
use std::path::{Path, PathBuf};

use super::args::{ReplayArgs, ServeArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output_target;
use loomrec_script::{Script, ScriptBuilder, ScriptNotation};

/// The most bytes of a script's file, and the most bytes of all files.
const LARGEST: u64 = 64 << 20;
/// The most files of a script, and the most folders within one another.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 16;
/// The extensions of a script's files: JSON first, then those of YAML.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Reads the script that these files and folders make up; `None` if there are none. A file is YAML if
/// its extension says so, otherwise JSON.
///
/// # Errors
/// A file that cannot be read, is not a script, or would be overwritten; a folder without one.
pub fn read(paths: &[PathBuf], args: &ServeArgs) -> Result<Option<Script>, CommandFailure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for path in paths {
        let failed = |why: &dyn std::fmt::Display| script_failure(path, why);
        match path.is_dir() {
            false => files.push(path.clone()),
            true => {
                let before = files.len();
                add_folder(path, DEEPEST, &mut files).map_err(|error| failed(&error))?;
                if files.len() == before {
                    return Err(failed(&"it has no file whose name ends in .json, .yaml or .yml"));
                }
            }
        }
    }
    let (mut builder, mut left) = (ScriptBuilder::default(), LARGEST);
    for path in files {
        refuse_overwriting(&path, "--script", args)?;
        let text =
            loomrec_os::read_input(&path, left).map_err(|error| script_failure(&path, &error))?;
        left = left.saturating_sub(text.len() as u64);
        builder
            .add_file(&text, file_notation(&path))
            .map_err(|error| script_failure(&path, &error))?;
    }
    Ok(Some(Script::new(builder)))
}

fn script_failure(path: &Path, why: &dyn std::fmt::Display) -> CommandFailure {
    CommandFailure::usage(format!("failed to read the script {}: {why}", path.display()))
}

/// Adds the files of a folder in the order of their names, and then those of the folders in it.
fn add_folder(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let (mut own, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        match path.is_dir() {
            true => folders.push(path),
            false if EXTENSIONS.iter().any(|it| extension.eq_ignore_ascii_case(it)) => {
                own.push(path);
            }
            false => {}
        }
        if files.len() + own.len() + folders.len() > MOST_FILES {
            return Err(io::Error::other(format!("it has more than {MOST_FILES} files")));
        }
    }
    own.sort();
    folders.sort();
    files.extend(own);
    for folder in folders {
        if depth == 0 {
            let why = format!("{} is more than {DEEPEST} folders deep", folder.display());
            return Err(io::Error::other(why));
        }
        add_folder(&folder, depth - 1, files)?;
    }
    Ok(())
}

/// Refuses a script that would answer beside recordings in a strict replay, unless that is allowed.
///
/// # Errors
/// `--strict` with recordings and a script, without `--allow-script`.
pub fn refuse_beside_strict(args: &ReplayArgs) -> Result<(), CommandFailure> {
    if args.strict && !args.script.is_empty() && !args.recordings.is_empty() && !args.allow_script {
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
        if file.as_ref().is_some_and(|file| {
            output_target::resolve_path(file) == output_target::resolve_path(path)
        }) {
            return Err(CommandFailure::usage(format!(
                "{flag} and {read} both name {}: give each a file of its own",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Returns the notation of a file by its extension.
pub fn file_notation(path: &Path) -> ScriptNotation {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match EXTENSIONS[1..].iter().any(|yaml| extension.eq_ignore_ascii_case(yaml)) {
        true => ScriptNotation::Yaml,
        false => ScriptNotation::Json,
    }
}
