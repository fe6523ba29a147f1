//! The `loomrec convert` command: converts a recording in one file into a folder, and back.

use std::collections::HashSet;

use super::args::{ConvertArgs, LogFormat};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::{output_target, serve_setup, terminal};
use loomrec_store::StoreError;

/// Runs the command.
///
/// # Errors
/// A recording that is missing, damaged or too new (4); a target that exists already (2) or cannot
/// be written (5); a stdout that cannot be written.
pub fn run(args: &ConvertArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    output_target::refuse_within("TO", args.to.as_path(), [&args.from])?;
    let from = serve_setup::open(&args.from, &output)?;
    let mut names = HashSet::new();
    let entries = from.entries().map(|stored| {
        let stored = stored?;
        names.insert(stored.name.clone());
        Ok::<_, StoreError>((stored.name, stored.entry))
    });
    let count = loomrec_store::create(&args.to, from.meta(), entries, args.force)?;
    let some = |count: usize, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    let text = format!(
        "{} -> {}: {} of {}\n",
        args.from.display(),
        args.to.display(),
        some(count, "call", "calls"),
        some(names.len(), "request or step", "requests and steps"),
    );
    print(&terminal::block(&text))
}
