//! Commands on files: they show, check, compare and change recordings, journals and settings. None
//! of them answers a call.

pub mod config;
pub mod diff;
pub mod edit;
mod end_signals;
pub mod export;
pub mod import;
pub mod journal;
pub mod ls;
pub mod merge;
pub mod noise;
pub mod prune;
pub mod redact;
pub mod review;
pub mod show;
pub mod stats;
mod transfer_report;
pub mod trust;
pub mod verify;

use loomrec_arguments as args;
