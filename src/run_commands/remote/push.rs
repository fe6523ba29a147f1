//! The `loomrec push` command.

use std::path::Path;

use loomrec_remote::address::AddressError;
use loomrec_remote::{
    ContentHash, LocalCache, PointerFile, PushBase, RecordingBucket, RemoteAddress, RemoteError,
    RemoteName, SecretFree, StateSelector, push,
};

use super::check::restore_objects;
use super::failure::write_failure;
use super::folders;
use super::transfer_notice::TransferNotice;
use crate::args::{LogFormat, PushArgs};
use crate::store_secrets::store_secrets;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::pointer_trust::{PointerTrust, trust_typed};
use loomrec_cli::serve_setup;
use loomrec_cli::settings::Settings;
use loomrec_cli::terminal::quote_word;
use loomrec_engine::upstream::install_crypto_provider;
use loomrec_store::Recording;

/// Runs the command.
///
/// # Errors
/// A recording that cannot be read (4), a name that is wrong (2), a store that cannot be used or a
/// newest state that the pointer file does not name (5).
pub async fn run(args: &PushArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let path = match &args.output {
        Some(path) if !PointerFile::is_at(path) => {
            return Err(CommandFailure::usage(
                "--output: the name of a pointer file ends in .remote.json",
            ));
        }
        Some(path) => path.clone(),
        None => PointerFile::path_beside(args.recording.as_path()),
    };
    let recording = serve_setup::open(&args.recording, &output)?;
    serve_setup::refuse_waiting(&args.recording, &recording)?;
    let pointer = match path.exists() {
        true => Some(PointerFile::read(&path).map_err(write_failure)?),
        false => None,
    };
    let PushTarget { address, tag, is_typed } = push_target(args, &path, pointer.as_ref())?;
    match is_typed {
        true => trust_typed(address.bucket_url()),
        false => {
            PointerTrust::from_settings(settings).require_trust(&path, address.bucket_url())?
        }
    }
    let known = pointer.filter(|pointer| pointer.address == address);
    let base = match args.force {
        true => PushBase::Any,
        false => PushBase::State(known.map(|pointer| pointer.manifest)),
    };
    install_crypto_provider();
    let bucket = RecordingBucket::connect(&address).map_err(write_failure)?;
    let cache = folders::local_cache();
    let notice = TransferNotice::start(&output, bucket.url());
    if args.fix {
        let (state, output) = (base_state(&base), notice.output_above_line(&output));
        return restore_states(&bucket, &cache, &recording, state, &output).await;
    }
    let secrets = store_secrets();
    let recording = SecretFree { recording: &recording, secrets: &secrets };
    let (tag, progress) = (tag.as_deref(), notice.on_progress());
    let pushed = push(&bucket, &cache, &recording, &base, tag, &progress).await;
    let pushed = pushed.map_err(|error| push_failure(error, args, &path))?;
    drop(notice);
    let pointer = PointerFile {
        address,
        manifest: pushed.manifest.clone(),
        takes: pushed.size.takes,
        bytes: pushed.size.bytes,
    };
    pointer.write(&path).map_err(write_failure)?;
    output.info(&format!(
        "{} -> {}: takes: {}; objects uploaded: {}; {} points to it",
        args.recording.display(),
        bucket.url(),
        pushed.size.takes,
        pushed.uploaded,
        path.display()
    ));
    Ok(0)
}

/// Returns the failure of a push, with the commands that merge what others have pushed.
fn push_failure(error: RemoteError, args: &PushArgs, pointer: &Path) -> CommandFailure {
    let remedy = match &error {
        RemoteError::Moved { url, .. } => {
            let pointer = pointer.exists().then_some(pointer);
            Some(merge_commands(args.recording.as_path(), pointer, url))
        }
        _ => None,
    };
    let mut failure = write_failure(error);
    failure.message.extend(remedy);
    failure
}

/// Returns the commands that merge the newest state into a recording and push it. The pointer file
/// comes first, so that nothing is lost that is pushed meanwhile.
fn merge_commands(file: &Path, pointer: Option<&Path>, url: &str) -> String {
    let quote = |path: &Path| quote_word(&path.to_string_lossy());
    let (file, url) = (quote(file), quote_word(url));
    let merge = format!("`loomrec merge -o {file} {file} theirs.json`");
    match pointer.map(quote) {
        Some(pointer) => format!(
            "; run `loomrec pull --update {pointer}`, `loomrec pull {pointer} -o theirs.json`, \
             {merge} and push again, or give --force"
        ),
        None => format!(
            "; run `loomrec pull {url} -o theirs.json`, {merge} and push again with --force"
        ),
    }
}

/// Returns the state that the pointer file names.
fn base_state(base: &PushBase) -> Option<&ContentHash> {
    match base {
        PushBase::State(state) => state.as_ref(),
        PushBase::Any => None,
    }
}

/// Restores the objects of all named states, and of the one that the pointer file names.
async fn restore_states(
    bucket: &RecordingBucket,
    cache: &LocalCache,
    recording: &Recording,
    pinned: Option<&ContentHash>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    let secrets = store_secrets();
    let recording = SecretFree { recording, secrets: &secrets };
    let named = restore_objects(bucket, cache, Some(&recording), None, output).await;
    if let Some(pinned) = pinned {
        restore_objects(bucket, cache, Some(&recording), Some(pinned), output)
            .await
            .map_err(write_failure)?;
    }
    named.map(|()| 0).map_err(write_failure)
}

/// Where to push.
struct PushTarget {
    address: RemoteAddress,
    /// The tag that the state gets.
    tag: Option<String>,
    /// Whether the user has typed the address.
    is_typed: bool,
}

/// Returns where to push: the URL that was given, or that of the pointer file, with the tag after
/// the `@`.
fn push_target(
    args: &PushArgs,
    path: &Path,
    pointer: Option<&PointerFile>,
) -> Result<PushTarget, CommandFailure> {
    let is_typed = args.url.as_ref().is_some_and(|given| !given.starts_with('@'));
    let given = args.url.as_deref().unwrap_or_default();
    let text = match pointer {
        _ if is_typed => given.to_owned(),
        Some(pointer) => format!("{}{given}", pointer.address),
        None => {
            return Err(CommandFailure::usage(format!(
                "there is no pointer file {}: say where to push to, such as s3://BUCKET/NAME",
                path.display()
            )));
        }
    };
    let refused = |error: AddressError| CommandFailure::usage(format!("failed to {error}"));
    let name = RemoteName::parse(&text).map_err(refused)?;
    name.address.refuse_object_names().map_err(refused)?;
    let tag = match name.state {
        StateSelector::Newest => None,
        StateSelector::Tag(_) if args.fix => {
            return Err(CommandFailure::usage("--fix changes no state: leave out @TAG"));
        }
        StateSelector::Tag(tag) => Some(tag),
        StateSelector::Manifest(_) => {
            let text = "a push makes a new state: leave out @sha256:HASH, or give a tag as @TAG";
            return Err(CommandFailure::usage(text));
        }
    };
    Ok(PushTarget { address: name.address, tag, is_typed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_refused_push_name_its_files() {
        let of = |pointer| merge_commands(Path::new("a b.json"), pointer, "s3://b/n");
        assert_eq!(
            of(Some(Path::new("a.remote.json"))),
            "; run `loomrec pull --update a.remote.json`, `loomrec pull a.remote.json -o \
             theirs.json`, `loomrec merge -o 'a b.json' 'a b.json' theirs.json` and push again, or \
             give --force"
        );
        assert_eq!(
            of(None),
            "; run `loomrec pull s3://b/n -o theirs.json`, `loomrec merge -o 'a b.json' 'a b.json' \
             theirs.json` and push again with --force"
        );
    }
}
