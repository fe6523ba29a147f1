//! The `loomrec gc` command.

use std::time::Duration;

use loomrec_remote::{
    ContentHash, GarbageList, GarbageTerms, RecordingBucket, RemoteAddress, find_garbage,
    find_pointers, find_purgeable, find_recording,
};

use super::failure::{read_failure, write_failure};
use super::folders;
use super::transfer_notice::TransferNotice;
use crate::args::{GcArgs, KeptStates, LogFormat};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal;
use loomrec_engine::upstream::install_crypto_provider;

/// The age up to which all states are kept by default.
const DEFAULT_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Runs the command.
///
/// # Errors
/// A name that is wrong, or a folder without pointer files (2); a store that cannot be used (5); a
/// state that is kept and not whole (4).
pub async fn run(args: &GcArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let address = RemoteAddress::parse(&args.url)
        .map_err(|error| CommandFailure::usage(format!("failed to {error}")))?;
    let terms = GarbageTerms { keep: kept_age(args)?, pinned: pinned_states(args, &address)? };
    install_crypto_provider();
    let bucket = RecordingBucket::connect(&address).map_err(write_failure)?;
    match (args.purge, args.delete) {
        (true, _) => purge_objects(args, &bucket, &output).await?,
        (_, true) => delete_recording(args, &bucket, &output).await?,
        _ => collect_garbage(args, &bucket, &terms, &output).await?,
    }
    Ok(0)
}

/// Returns the age up to which all states are kept.
fn kept_age(args: &GcArgs) -> Result<Duration, CommandFailure> {
    let mut ages = args.keep.iter().filter_map(|kept| match kept {
        KeptStates::Younger(age) => Some(*age),
        KeptStates::Pinned(_) => None,
    });
    let age = ages.next().unwrap_or(DEFAULT_AGE);
    match ages.next() {
        Some(_) => Err(CommandFailure::usage("--keep: give one time; folders can be repeated")),
        None => Ok(age),
    }
}

/// Returns the states that pointer files name.
fn pinned_states(
    args: &GcArgs,
    address: &RemoteAddress,
) -> Result<Vec<ContentHash>, CommandFailure> {
    let mut pinned = Vec::new();
    for kept in &args.keep {
        let KeptStates::Pinned(folder) = kept else { continue };
        let refused = |problem: &str| {
            CommandFailure::usage(format!("--keep {}: {problem}", folder.display()))
        };
        if !folder.is_dir() {
            return Err(refused("it is no folder"));
        }
        let found = find_pointers(folder, address).map_err(write_failure)?;
        if found.is_empty() {
            return Err(refused(&format!("no pointer file below it names {address}")));
        }
        pinned.extend(found.into_iter().map(|(_, state)| state));
    }
    Ok(pinned)
}

/// Removes what no state needs.
async fn collect_garbage(
    args: &GcArgs,
    bucket: &RecordingBucket,
    terms: &GarbageTerms,
    output: &Output,
) -> Result<(), CommandFailure> {
    let notice = TransferNotice::start(output, bucket.url());
    let mut garbage =
        find_garbage(bucket, &folders::local_cache(), terms).await.map_err(write_failure)?;
    drop(notice);
    for state in &garbage.gone {
        output.warning(&format!(
            "{}: a pointer file names {state}, and the store does not have it",
            bucket.url()
        ));
    }
    for state in &garbage.holes {
        output.warning(&format!(
            "{url}: the state {state} is kept and is not whole; `loomrec verify --fix {url}` restores \
             what it can",
            url = bucket.url()
        ));
    }
    let (states, lost) = (garbage.states, garbage.lost.take());
    print_paths(&garbage)?;
    let what = format!("{}; states that are kept: {states}", size_text(&garbage));
    if args.apply {
        garbage.remove_objects(bucket).await.map_err(write_failure)?;
        output.info(&format!("{}: removed {what}", bucket.url()));
    } else if garbage.paths().len() == 0 {
        output.info(&format!("{}: there is nothing to remove; {what}", bucket.url()));
    } else {
        output.info(&format!("{}: --apply removes {what}", bucket.url()));
    }
    lost.map_or(Ok(()), |lost| Err(read_failure(lost)))
}

/// Removes what the newest state does not need, and says what names it.
async fn purge_objects(
    args: &GcArgs,
    bucket: &RecordingBucket,
    output: &Output,
) -> Result<(), CommandFailure> {
    let (url, cache) = (bucket.url(), folders::local_cache());
    let notice = TransferNotice::start(output, url);
    let list = find_purgeable(bucket, &cache).await.map_err(write_failure)?;
    drop(notice);
    print_paths(&list.garbage)?;
    for (state, written) in &list.states {
        output.info(&format!("{url}: what pins {state} (written {written}) breaks"));
    }
    for tag in &list.tags {
        output.info(&format!("{url}: the tag {tag} goes"));
    }
    if list.replaced > 0 {
        output.warning(&format!(
            "{url}: takes that others replace stay in the newest state: {}; pull it, push it with \
             --force, and purge again",
            list.replaced
        ));
    }
    let what = match list.rewritten_packs() {
        0 => format!("{}; states: {}", size_text(&list.garbage), list.states.len()),
        packs => format!(
            "{}; states: {}; packs that are written again without it: {packs}",
            size_text(&list.garbage),
            list.states.len()
        ),
    };
    if args.apply {
        list.remove_objects(bucket, &cache).await.map_err(write_failure)?;
        output.info(&format!("{url}: removed {what}"));
    } else {
        output.info(&format!("{url}: --apply removes {what}"));
    }
    Ok(())
}

/// Removes a recording.
async fn delete_recording(
    args: &GcArgs,
    bucket: &RecordingBucket,
    output: &Output,
) -> Result<(), CommandFailure> {
    let notice = TransferNotice::start(output, bucket.url());
    let all = find_recording(bucket).await.map_err(write_failure)?;
    drop(notice);
    print_paths(&all)?;
    let what = format!("the whole recording: {}", size_text(&all));
    if args.apply {
        all.remove_objects(bucket).await.map_err(write_failure)?;
        output.info(&format!("{}: removed {what}", bucket.url()));
    } else {
        output.info(&format!("{}: --apply removes {what}", bucket.url()));
    }
    Ok(())
}

fn print_paths(garbage: &GarbageList) -> Result<(), CommandFailure> {
    let paths: String = garbage.paths().map(|path| format!("{path}\n")).collect();
    print(&terminal::printable_text(&paths)).map(drop)
}

fn size_text(garbage: &GarbageList) -> String {
    format!("objects: {}, of {} bytes", garbage.paths().len(), garbage.bytes)
}
