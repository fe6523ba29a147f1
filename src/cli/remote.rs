//! Recordings in object stores, as commands use them.

mod compact;
mod failure;
mod fetcher;
mod folders;
mod garbage;
mod names;
mod pull;
mod push;
mod recording;
mod secrets;

pub(super) use compact::run as compact;
pub(super) use garbage::run as gc;
pub(super) use names::localize;
pub(super) use pull::run as pull;
pub(super) use push::run as push;
pub(super) use recording::RemoteRecording;
