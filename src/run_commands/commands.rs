//! The commands of this crate, as the root package calls them.
//!
//! The compiler generates the code of a future where it is polled. In a box, the commands are
//! generated in this crate, at its optimization level, and not in the root package.

use super::args::{
    Command, DemoArgs, DoctorArgs, GcArgs, LsArgs, McpArgs, MergeArgs, PullArgs, PushArgs,
    RecordArgs, ReplayArgs, RerecordArgs, UiArgs,
};
use super::{
    demo, doctor, mcp as mcp_command, prove, remote, remote_arguments, rerecord, session, ui,
};
use loomrec_cli::CommandFuture;
use loomrec_cli::settings::Settings;

pub use super::score::run as score;

/// Makes the recordings in object stores that a command reads available as files, or refuses them
/// where they cannot be used.
///
/// # Errors
/// A command that must not name such a recording; one that cannot be fetched.
pub fn localize<'a>(command: &'a mut Command, settings: &'a Settings) -> CommandFuture<'a, ()> {
    Box::pin(async {
        remote_arguments::refuse_local_use(command)?;
        remote::localize(command, settings).await
    })
}

/// Lists the recordings of a bucket, if that is what `loomrec ls` names.
pub fn list(args: &LsArgs) -> CommandFuture<'_, Option<u8>> {
    Box::pin(remote::list(args))
}

/// Runs `loomrec record`.
pub fn record(args: RecordArgs, settings: &Settings) -> CommandFuture<'_> {
    Box::pin(session::run_record(args, settings))
}

/// Runs `loomrec record --prove`. `line` is the definition of the command line.
pub fn prove<'a>(args: &'a RecordArgs, line: &'a clap::Command) -> CommandFuture<'a> {
    Box::pin(prove::run(args, line))
}

/// Runs `loomrec replay`.
pub fn replay(args: ReplayArgs, settings: &Settings) -> CommandFuture<'_> {
    Box::pin(session::run_replay(args, settings))
}

/// Runs `loomrec mcp`.
pub fn mcp(args: McpArgs) -> CommandFuture<'static> {
    Box::pin(mcp_command::run(args))
}

/// Runs `loomrec rerecord`.
pub fn rerecord(args: &RerecordArgs) -> CommandFuture<'_> {
    Box::pin(rerecord::run(args))
}

/// Runs `loomrec push`.
pub fn push<'a>(args: &'a PushArgs, settings: &'a Settings) -> CommandFuture<'a> {
    Box::pin(remote::push(args, settings))
}

/// Runs `loomrec pull`.
pub fn pull<'a>(args: &'a PullArgs, settings: &'a Settings) -> CommandFuture<'a> {
    Box::pin(remote::pull(args, settings))
}

/// Merges what recorders have uploaded, if that is what `loomrec merge` names.
pub fn merge_uploads(args: &MergeArgs) -> CommandFuture<'_, Option<u8>> {
    Box::pin(async {
        match args.remote_url() {
            Some(url) => remote::compact(args, &url).await.map(Some),
            None => Ok(None),
        }
    })
}

/// Runs `loomrec gc`.
pub fn gc(args: &GcArgs) -> CommandFuture<'_> {
    Box::pin(remote::gc(args))
}

/// Runs `loomrec ui`.
pub fn ui(args: &UiArgs) -> CommandFuture<'_> {
    Box::pin(ui::run(args))
}

/// Runs `loomrec doctor`.
pub fn doctor<'a>(args: &'a DoctorArgs, settings: &'a Settings) -> CommandFuture<'a> {
    Box::pin(doctor::run(args, settings))
}

/// Runs `loomrec demo`.
pub fn demo(args: DemoArgs) -> CommandFuture<'static> {
    Box::pin(demo::run(args))
}
