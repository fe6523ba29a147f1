//! Recordings in object stores: states, segments, pointers and the cache.
//!
//! A state is a manifest and the objects of its entries, all named by their hashes. One
//! reference names the newest state. Recorders upload segments of their logs from an
//! [`UploadSpool`] on their machine, and [`compact()`] merges them. [`StateFetcher`] composes the
//! recording of a state in the [`LocalCache`], where it is read like any other.

pub mod address;
mod bucket;
mod bucket_check;
mod bucket_repair;
mod cached_entries;
mod collection;
mod compact;
mod composed_recording;
mod content_hash;
mod download_progress;
mod entry_check;
mod entry_download;
mod entry_writer;
mod fetch;
mod listed_segment;
mod local_cache;
mod lost_ref;
mod lost_reference;
mod manifest;
mod merge_upload;
mod merged_segments;
mod merged_state;
mod object_access;
mod object_download;
mod object_name;
mod pack_builder;
mod pack_download;
mod pack_plan;
mod pack_read;
mod pack_search;
mod packed_manifest;
mod packed_text;
pub mod pointer;
mod pointer_search;
mod purge;
mod push;
mod push_upload;
mod recorder_file;
mod recording_composer;
mod recording_list;
mod remote_error;
mod secret_free;
mod segment;
mod segment_plan;
mod segment_upload;
mod state_index;
mod state_loader;
mod store_clock;
mod take_order;
#[cfg(test)]
mod tests;
mod upload_spool;
mod whole_file;

#[cfg(feature = "fuzzing")]
pub use {
    listed_segment::ListedSegment,
    manifest::StateManifest,
    pack_search::split_pack,
    packed_text::{pack_text, unpack_text},
    segment::{SegmentContents, read_segment},
    state_index::{IndexedPack, PackedEntry, StateIndex},
};

pub use address::{RemoteAddress, RemoteName, StateSelector};
pub use bucket::RecordingBucket;
pub use bucket_check::{BucketCheck, check_bucket};
pub use bucket_repair::repair_bucket;
pub use collection::{GarbageList, GarbageTerms, find_garbage};
pub use compact::{CompactedState, compact};
pub use content_hash::ContentHash;
pub use download_progress::OnFetchProgress;
pub use entry_check::CheckDepth;
pub use fetch::{FetchedState, StateFetcher};
pub use local_cache::LocalCache;
pub use lost_ref::restore_ref;
pub use lost_reference::LostReference;
pub use merged_state::newest_rules;
pub use pointer::PointerFile;
pub use pointer_search::find_pointers;
pub use purge::{PurgeList, find_purgeable, find_recording};
pub use push::{PushBase, PushedState, push};
pub use recorder_file::RecorderFile;
pub use recording_list::{ListedRecording, RemotePrefix, list_recordings};
pub use remote_error::RemoteError;
pub use secret_free::SecretFree;
pub use segment_plan::GapChoice;
pub use segment_upload::{
    OnUploadEvent, SegmentUploader, UploadEvent, UploadResult, upload_leftovers,
};
pub use state_loader::{StateSize, state_size};
pub use upload_spool::UploadSpool;
