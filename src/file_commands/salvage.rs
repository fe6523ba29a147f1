//! The `loomrec salvage` command: saves the readable part of a damaged recording or log in a new
//! recording.

use serde_json::{Value, json};

use super::args::SalvageArgs;
use loomrec_cli::exit::{CommandFailure, NO, RECORDING};
use loomrec_cli::output::print;
use loomrec_cli::{output_target, terminal};
use loomrec_store::{LostBytes, SalvageResult, create};

/// Runs the command.
///
/// # Errors
/// A file that is missing or cannot be read at all, or in which no call can be read (4); an output
/// that is the file itself, or exists already (2); one that cannot be written.
pub fn run(args: &SalvageArgs) -> Result<u8, CommandFailure> {
    if args.file == args.output
        || output_target::is_same_file(args.file.as_path(), args.output.as_path())
    {
        return Err(CommandFailure::usage(format!(
            "failed to salvage {} into itself: name another file with -o",
            args.file.display()
        )));
    }
    output_target::refuse_within("-o", args.output.as_path(), [&args.file])?;
    let salvage = SalvageResult::open(&args.file)?;
    if salvage.is_empty() {
        let text = format!(
            "failed to find a call in {} that can be read: restore it from a backup, or record again",
            args.file.display()
        );
        return Err(CommandFailure::new(RECORDING, text));
    }
    create(&args.output, salvage.meta(), salvage.entries(), args.force)?;
    let text = if args.json { as_json(args, &salvage) } else { as_text(args, &salvage) };
    print(&text)?;
    Ok(if salvage.lost().is_empty() { 0 } else { NO })
}

fn as_text(args: &SalvageArgs, salvage: &SalvageResult) -> String {
    let mut out = String::new();
    let label = args.file.display().to_string();
    let label = terminal::line(&label);
    for lost in salvage.lost() {
        let file = lost.file.as_ref().map(|file| file.display().to_string());
        let file = file.as_deref().map_or_else(|| label.clone(), terminal::line);
        out.push_str(&format!("{file}{}\n", told(lost)));
    }
    let count =
        |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let whole = salvage.lost().iter().filter(|lost| !lost.in_part).count();
    let lost = match whole {
        0 => "nothing was lost".to_owned(),
        places => format!("{} lost", count(places, "place")),
    };
    let into = args.output.display().to_string();
    let saved = count(salvage.len(), "call");
    out.push_str(&format!("{label}: {saved} saved in {}, {lost}\n", terminal::line(&into)));
    out
}

/// Formats what is lost at one place.
fn told(lost: &LostBytes) -> String {
    let place = match (lost.line, lost.bytes) {
        (Some(line), _) => format!(":{line}"),
        (None, 0) => String::new(),
        (None, _) => format!(" at byte {}", lost.at),
    };
    let word = if lost.in_part { "note" } else { "lost" };
    let bytes = if lost.bytes > 0 { format!(" ({} bytes)", lost.bytes) } else { String::new() };
    let key = lost.key.as_deref().map(|key| format!("{}: ", terminal::cut(key, 80)));
    let text = format!("{}{}", key.unwrap_or_default(), lost.why);
    format!("{place}: {word}: {}{bytes}", terminal::line(&text))
}

fn as_json(args: &SalvageArgs, salvage: &SalvageResult) -> String {
    let lost: Vec<Value> = salvage
        .lost()
        .iter()
        .map(|lost| {
            json!({
                "file": lost.file.as_ref().map(|file| file.display().to_string()),
                "key": lost.key,
                "at": lost.at,
                "bytes": lost.bytes,
                "line": lost.line,
                "why": lost.why,
                "in_part": lost.in_part,
            })
        })
        .collect();
    let value = json!({
        "file": args.file.display().to_string(),
        "output": args.output.display().to_string(),
        "form": if salvage.is_log() { "log" } else { "recording" },
        "saved": salvage.len(),
        "lost": lost,
    });
    format!("{}\n", terminal::json(&value.to_string()))
}
