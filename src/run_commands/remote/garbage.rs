//! The `loomrec gc` command.

use loomrec_remote::{RecordingBucket, RemoteAddress, find_garbage};

use super::failure::writing;
use super::folders;
use super::transfer_notice::TransferNotice;
use crate::args::{GcArgs, LogFormat};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal;
use loomrec_engine::upstream::install_crypto_provider;

/// Runs the command.
///
/// # Errors
/// A name that is wrong (2), or a store that cannot be used (5).
pub async fn run(args: &GcArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let address = RemoteAddress::parse(&args.url)
        .map_err(|error| CommandFailure::usage(format!("failed to {error}")))?;
    install_crypto_provider();
    let bucket = RecordingBucket::connect(&address).map_err(writing)?;
    let notice = TransferNotice::start(&output, bucket.url());
    let garbage = find_garbage(&bucket, &folders::cache(), args.keep).await.map_err(writing)?;
    drop(notice);
    let paths: String = garbage.paths().map(|path| format!("{path}\n")).collect();
    let (count, bytes, states) = (garbage.paths().len(), garbage.bytes, garbage.states);
    print(&terminal::block(&paths))?;
    let what = format!("objects: {count}, of {bytes} bytes; states that are kept: {states}");
    if args.apply {
        garbage.remove(&bucket).await.map_err(writing)?;
        output.info(&format!("{address}: removed {what}"));
    } else if count == 0 {
        output.info(&format!("{address}: there is nothing to remove; {what}"));
    } else {
        output.info(&format!("{address}: --apply removes {what}"));
    }
    Ok(0)
}
