//! Takes that no call asked for, under `--fail-unused`: the complaint, and the commands that remove
//! such takes.

use super::pending::quote_path;
use crate::args::ReplayArgs;
use crate::receipt::Receipt;
use crate::server_run::RunResult;
use loomrec_cli::serve_setup::UnusedTakes;
use loomrec_cli::short_key::short_key;
use loomrec_cli::terminal::quote_word;
use loomrec_engine::replay::{Matcher, ReplayTake};
use loomrec_recording::EntryName;
use loomrec_store::RecordingLocation;

/// How many unused takes, or rules, a complaint names.
const NAMED: usize = 5;

/// The name of a receipt in a proposed command, if the run wrote none.
const RECEIPT: &str = "run.receipt";

/// The line before commands that remove takes.
const LISTED: &str = "to remove them (without --apply, they are only listed):";

/// Said in place of the commands if the takes that the run did not use may be needed.
const BY_STRICT_RUN: &str =
    "to remove them, replay with --strict and without faults: that run prints the commands";

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

/// Returns the commands that remove the unused takes of a run, or what has to be done before.
pub(super) fn next_steps(args: &ReplayArgs, receipt: &Receipt, ran: &RunResult) -> Vec<String> {
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
    // A receipt does not say which recording an unused take is in, and a journal does not tell the
    // takes of a key apart.
    let [file] = args.recordings.as_slice() else {
        let matcher = ran.replay.as_ref().map(|replay| replay.matcher()).filter(|_| is_strict);
        let listed =
            |matcher: &Matcher| [vec![LISTED.to_owned()], key_commands(args, matcher)].concat();
        return matcher.map_or_else(|| vec![BY_STRICT_RUN.to_owned()], listed);
    };
    let written = args.serve.receipt.as_deref().filter(|_| is_strict);
    let terms = if is_strict { "" } else { "--strict, without faults, and " };
    let first = match written {
        Some(_) => LISTED.to_owned(),
        None => format!("to remove them, replay with {terms}--receipt {RECEIPT}, then:"),
    };
    let from = written.map_or_else(|| RECEIPT.to_owned(), quote_path);
    let file = quote_path(file.as_path());
    vec![first, format!("  loomrec prune {file} --unused {from} --apply")]
}

/// Returns the commands that remove the unused takes of each recording by their keys.
fn key_commands(args: &ReplayArgs, matcher: &Matcher) -> Vec<String> {
    let key = |take: &ReplayTake| {
        let name = match matcher.name_of(take) {
            EntryName::Hash(hash) => hash.short_form().to_owned(),
            EntryName::Step(step) => step,
        };
        // Without a number, all takes of the call would go.
        quote_word(&format!("{name}#{}", take.number()))
    };
    let command = |(index, file): (usize, &RecordingLocation)| {
        let own = matcher.unused_takes().filter(|take| take.source_index() == index);
        let keys: Vec<String> = own.map(key).collect();
        let file = quote_path(file.as_path());
        (!keys.is_empty()).then(|| format!("  loomrec prune {file} {} --apply", keys.join(" ")))
    };
    args.recordings.iter().enumerate().filter_map(command).collect()
}

/// Returns the first of `count` names.
pub(super) fn first_names(names: &[String], count: usize) -> String {
    let more = if count > NAMED { ", …" } else { "" };
    let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{more}", named.join(", "))
}
