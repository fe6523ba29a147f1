//! Curation of recordings: what the commands make of recordings that exist.
//!
//! The folders are readers of recordings that do not import each other. [`verification`] checks a
//! recording, [`comparison`] and [`merge`] bring two together, [`noise`] finds rules for what
//! differs between two runs, [`review`] places pending changes, [`inspection`] shows a call.
//! [`history`] is what requests repeat of earlier ones. Everything is pure: no I/O, no clock.

pub mod comparison;
pub mod history;
mod hunk;
pub mod inspection;
pub mod merge;
pub mod noise;
pub mod review;
pub mod verification;
