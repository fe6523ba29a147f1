//! Tests of `review`, `accept` and `reject`: pending changes and their decisions.

mod bad;
mod decide;
mod dialog;
mod sample;
