//! Recordings on disk: read as a whole, and kept up to date by any number of processes at the same
//! time.
//!
//! A [`Recording`] is read entry by entry, and [`load_recording`] reads it whole. A
//! [`RecordingAppender`] adds to one: a [`FrameEncoder`] encodes exchanges, and each
//! [`RecordingAppender::append_frames`] appends to the recording's log under the exclusive lock of
//! its lock file. Compactions merge the log into the file as a whole (a [`SharedAppender`] runs
//! them when they are due), so nothing is lost and a reader never sees half a file.
//! [`RecordingChanges`] are applied to a recording that nobody records into, and
//! [`create_recording`] makes one from entries. Everything here blocks.

mod appender_event;
mod bucket_url;
mod compaction;
mod compaction_job;
mod compaction_schedule;
mod compactor;
mod compose;
mod digest;
mod disk;
pub mod error;
mod error_class;
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
mod replaced_file;
mod rewrite;
mod rotation;
mod run;
mod safe_file_name;
mod secret_guard;
mod segment;
mod session_lease;
mod shared_appender;
mod sidecars;
mod snapshot;
mod spared_takes;
mod spool;
mod staged_file;
mod state_folder;
pub mod store_event;
mod temporary_file;
mod unfinished;

pub use appender_event::{AppenderEvent, OnAppenderEvent};
pub use bucket_url::BucketUrl;
pub use digest::file_digest;
pub use error::StoreError;
pub use error_class::ErrorClass;
pub use frame_encoder::{EncodedFrame, FrameEncoder, LogItem};
pub use inspect::{InspectedFile, LeftoverFile, find_leftovers, find_temporary_files};
pub use location::{
    POINTER_SUFFIX, REMOTE_SCHEMES, RecordingLocation, RemoteOrigin, UrlSchemeError,
};
pub use merge::TakeReplacement;
pub use reader::{EntryIter, Recording, StoredEntry, TakeRef, load_recording};
pub use recorder::RecordingAppender;
pub use regular_file::{UnsafeFileError, UnsafeKind, open_output};
pub use replaced_file::accept_replacing;
pub use rewrite::{RecordingChanges, TakeChange, create_empty, create_recording, remove_empty};
pub use run::RunChoice;
pub use safe_file_name::safe_file_name;
pub use segment::{SegmentFile, cut_segment};
pub use session_lease::{SessionLease, refuse_leased};
pub use shared_appender::SharedAppender;
pub use spared_takes::{SparedTakes, spare_successes};
pub use state_folder::{STATE_FOLDER, create_state_folder};
pub use store_event::StoreEvent;
pub use unfinished::{copy_to, discard_unfinished, put_in_place};
