//! What depends on the operating system, behind plain functions. No other member names
//! `std::os`, `rustix` or a signal; what the standard library offers everywhere is not
//! wrapped.
//!
//! Every call here may block.

mod file_access;
mod file_status;
mod file_system;

pub use file_access::{
    read_at, read_exact_at, refuse_links, refuse_links_and_waits, set_creation_mode, set_mode,
    write_all_at,
};
pub use file_status::{FileId, FileKind, FileStatus};
pub use file_system::{CAN_SYNC_FILE_SYSTEM, network_file_system, sync_file_system};
