//! Recordings on disk: read whole, and kept up to date by any number of
//! processes at once.
//!
//! A [`Recording`] is read entry by entry, [`load`] reads it whole. A [`Recorder`]
//! adds to one: a [`Packer`] makes exchanges ready, each [`Recorder::keep`] appends to the log `FILE.log` under the
//! exclusive lock of the sidecar `FILE.lock`, and folds bring the log into the file
//! as a whole, so nothing is lost and a reader never sees half a file. [`Changes`] are
//! made to one that nobody records into; [`create`] makes one of entries. Everything
//! here blocks.

mod atomic;
mod beside;
mod body;
mod compose;
mod disk;
pub mod error;
mod examine;
mod file;
mod fold;
mod index;
mod job;
mod leftover;
mod linked;
mod lock;
mod log;
mod merge;
mod network;
pub mod note;
mod parcel;
mod paths;
mod reader;
mod recorder;
mod regular_file;
mod rename;
mod replaced_file;
mod rewrite;
mod room;
mod rotate;
mod run;
mod salvage;
mod schedule;
mod source;
mod split;
mod spool;
mod stamp;
mod sum;
mod tail;
mod watch;
mod window;

pub use error::{Class, StoreError};
pub use examine::{Examined, Leftover, files, leftovers, misnamed};
pub use job::{FoldDone, FoldJob};
pub use note::Note;
pub use parcel::{Item, Packer, Parcel};
pub use paths::{beside_recording, is_folder};
pub use reader::{Entries, Place, Recording, Stored, load};
pub use recorder::Recorder;
pub use regular_file::{UnsafeFileError, UnsafeKind, open_output};
pub use replaced_file::accept_replacing;
pub use rewrite::{Changes, Kept, create};
pub use run::RunChoice;
pub use salvage::{Lost, Salvage};
pub use sum::sha256;
pub use tail::Durability;
