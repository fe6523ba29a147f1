//! Tests of `review`: pending changes and their decisions.

mod bad;
mod decide;
mod dialog;
mod listed;
mod sample;
