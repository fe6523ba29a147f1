//! Takes that no call asked for, under `--fail-unused`: the complaint, and the commands that remove
//! such takes.

use super::pending::quote_path;
use crate::args::ReplayArgs;
use crate::receipt::Receipt;
use loomrec_cli::serve_setup::UnusedTakes;
use loomrec_cli::short_key::short_key;
use loomrec_recording::EntryName;
use loomrec_store::RecordingLocation;

/// How many unused takes, or rules, a complaint names.
const NAMED: usize = 5;

/// The name of a receipt or a journal in a proposed command, if the run wrote none.
const RECEIPT: &str = "run.receipt";
const JOURNAL: &str = "run.jsonl";

/// Returns the complaint about unused takes, with short keys: `show` and `ls` know them.
pub(super) fn complaint(unused: &UnusedTakes) -> String {
    let short = |key: &String| {
        let (name, take) = EntryName::of_key(key);
        short_key(&name, take)
    };
    let keys: Vec<String> = unused.named.iter().take(NAMED).map(short).collect();
    let count = unused.count;
    format!("recorded takes that no call asked for: {count}: {}", first_names(&keys, count))
}

/// Returns the commands that remove the unused takes, or what has to be done before.
pub(super) fn next_steps(args: &ReplayArgs, receipt: &Receipt) -> Vec<String> {
    if receipt.missed > 0 {
        return vec![
            "see to the missed calls first: the review puts their new answers in the place of takes \
             that no call asks for"
                .to_owned(),
        ];
    }
    // `prune` refuses the receipt of such a run: it does not show which takes are needed.
    let is_whole = receipt.served > 0
        && receipt.refused + receipt.unreachable == 0
        && receipt.cmd_exit.is_none_or(|code| code == 0);
    if !is_whole {
        return Vec::new();
    }
    let is_strict = receipt.faulted + receipt.defaulted + receipt.forwarded == 0;
    // A receipt does not say which recording an unused take is in.
    let (flag, output, unwritten, written) = match args.recordings.len() {
        1 => ("--unused", "--receipt", RECEIPT, &args.serve.receipt),
        _ => ("--journal", "--journal", JOURNAL, &args.serve.journal),
    };
    let written = written.as_deref().filter(|_| is_strict);
    let terms = if is_strict { "" } else { "--strict, without faults, and " };
    let mut steps = vec![match written {
        Some(_) => "to remove them (without --apply, they are only listed):".to_owned(),
        None => format!("to remove them, replay with {terms}{output} {unwritten}, then:"),
    }];
    let from = written.map_or_else(|| unwritten.to_owned(), quote_path);
    let command = |file: &RecordingLocation| {
        format!("  loomrec prune {} {flag} {from} --apply", quote_path(file.as_path()))
    };
    steps.extend(args.recordings.iter().map(command));
    steps
}

/// Returns the first of `count` names.
pub(super) fn first_names(names: &[String], count: usize) -> String {
    let more = if count > NAMED { ", …" } else { "" };
    let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{more}", named.join(", "))
}
