//! Recordings in object stores, as commands use them.

mod check;
mod compact;
mod failure;
mod fetcher;
mod folders;
mod garbage;
mod listing;
mod names;
mod pull;
mod push;
mod recording;
mod transfer_notice;

pub use compact::run as compact;
pub use garbage::run as gc;
pub use listing::run as list;
pub(super) use names::RecordingNames;
pub use names::localize;
pub use pull::run as pull;
pub use push::run as push;
pub(super) use recording::RemoteRecording;
