//! The arguments of commands that can name a recording in an object store.

use super::args::Command;
use loomrec_cli::exit::CommandFailure;
use loomrec_store::RecordingLocation;

/// Returns the recordings that a command reads and does not change.
pub(super) fn read_recordings(command: &mut Command) -> Vec<&mut RecordingLocation> {
    match command {
        Command::Replay(args) => args.recordings.iter_mut().collect(),
        Command::Ls(args) => vec![&mut args.file],
        Command::Show(args) => vec![&mut args.file],
        Command::Diff(args) => vec![&mut args.old, &mut args.new],
        Command::Noise(args) => std::iter::once(&mut args.file).chain(&mut args.other).collect(),
        Command::Stats(args) => args.files.iter_mut().collect(),
        Command::Verify(args) => args.files.iter_mut().collect(),
        Command::Merge(args) => args.files.iter_mut().collect(),
        Command::Export(args) => vec![&mut args.file],
        Command::Ui(args) => std::iter::once(&mut args.file).chain(&mut args.recording).collect(),
        Command::Doctor(args) => args.files.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// Refuses what is for recordings of this machine, for one in an object store: flags that change a
/// recording, and a recording for each session.
pub fn refuse_local_use(command: &mut Command) -> Result<(), CommandFailure> {
    let flag = match command {
        Command::Record(args) if args.recording.is_url() => {
            return refuse_sessions(&args.recording);
        }
        Command::Replay(args) => return args.recordings.iter().try_for_each(refuse_sessions),
        Command::Noise(args) if args.apply => "--apply",
        _ => return Ok(()),
    };
    match read_recordings(command).into_iter().find(|location| location.is_remote()) {
        None => Ok(()),
        Some(location) => Err(CommandFailure::usage(format!(
            "{flag}: a state of a remote recording never changes: get a file with `loomrec pull {} \
             -o FILE`, change that, and `loomrec push` it",
            location.display()
        ))),
    }
}

fn refuse_sessions(location: &RecordingLocation) -> Result<(), CommandFailure> {
    let text = location.display().to_string();
    match location.is_remote() && text.contains("{session}") {
        false => Ok(()),
        true => Err(CommandFailure::usage(format!(
            "{text}: a recording for each session is a file of this machine; an object store has \
             one recording under a name"
        ))),
    }
}
