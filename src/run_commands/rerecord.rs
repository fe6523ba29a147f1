//! The `loomrec rerecord` command: sends recorded requests again, or those that a replay missed,
//! and keeps the new answers apart until they are reviewed.
//!
//! Requests are read once before anything is sent, to see what there is to do and what prevents it.
//! Each is read again when its turn comes.

mod collect;
mod confirmation;
mod destination;
mod filter;
mod folder;
mod new_answers;
mod origin;
mod plan;
mod progress;
mod recording_run;
mod report;
mod request;
mod request_override;
mod route;
mod sender;

use super::args::RerecordArgs;
use confirmation::confirm;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::settings::trusted_text;
use origin::OriginFiles;
use recording_run::RerecordRun;

/// Runs the command.
///
/// # Errors
/// A call that cannot be sent. This is found before any call is sent.
pub async fn run(args: &RerecordArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(args.log_format, args.quiet || args.json, false)
        .with_disclosure(args.from_settings.is_quiet && !args.json);
    if let Some(text) = trusted_text(&args.from_settings.trusted) {
        output.disclose(&format!("loomrec: in force: {text}"));
    }
    if let Some(folder) = args.file.as_ref().filter(|file| file.names_folder()) {
        return folder::run(args, folder, &output).await;
    }
    let Some(origin) = OriginFiles::from_args(args)? else {
        output.info("nothing drifted in that replay: there is nothing to send");
        return Ok(0);
    };
    let mut run = RerecordRun::prepare(args, origin, &output)?;
    if args.dry_run || run.total == 0 {
        return run.show_plan(args, &output);
    }
    confirm(args, &run.collected, run.total, &output)?;
    Ok(run.send_all(args, &output).await?.code)
}
