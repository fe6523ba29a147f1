//! Recordings on disk: read whole, and kept up to date by any number of
//! processes at once.
//!
//! A [`Recording`] is read entry by entry, [`load`] reads it whole. A [`RecordingAppender`]
//! adds to one: a [`FrameEncoder`] makes exchanges ready, each [`RecordingAppender::keep`] appends to the log `FILE.log` under the
//! exclusive lock of the sidecar `FILE.lock`, and compactions bring the log into the file
//! as a whole (a [`SharedAppender`] makes them when they are due), so nothing is lost and a reader never sees half a file. [`RecordingChanges`] are
//! made to one that nobody records into; [`create`] makes one of entries. Everything
//! here blocks.

mod appender_event;
mod backend;
mod compaction;
mod compaction_job;
mod compaction_schedule;
mod compactor;
mod compose;
mod disk;
pub mod error;
mod file;
mod file_version;
mod frame_encoder;
mod index;
mod inspect;
mod leftover;
mod linked;
mod location;
mod lock;
mod log;
mod log_appender;
mod memory_guard;
mod merge;
mod paths;
mod read_buffer;
mod reader;
mod recorder;
mod regular_file;
mod rename_entries;
mod replaced_file;
mod rewrite;
mod rotation;
mod run;
mod salvage;
mod secret_guard;
mod shared_appender;
mod sidecars;
mod snapshot;
mod spool;
pub mod store_event;
mod temporary_file;

pub use appender_event::{AppenderEvent, OnAppenderEvent};
pub use backend::digest::sha256;
pub use backend::parts::{files, is_folder, misnamed};
pub use error::{ErrorClass, StoreError};
pub use frame_encoder::{EncodedFrame, FrameEncoder, LogItem};
pub use inspect::{InspectedFile, LeftoverFile, leftovers};
pub use location::{RecordingLocation, RemoteLocationError};
pub use log_appender::Durability;
pub use reader::{EntryIter, Recording, StoredEntry, TakeRef, load};
pub use recorder::RecordingAppender;
pub use regular_file::{UnsafeFileError, UnsafeKind, open_output};
pub use replaced_file::accept_replacing;
pub use rewrite::{RecordingChanges, TakeChange, create};
pub use run::RunChoice;
pub use salvage::{LostBytes, SalvageResult};
pub use shared_appender::SharedAppender;
pub use store_event::StoreEvent;
