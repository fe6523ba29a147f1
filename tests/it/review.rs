//! Tests of `review`, `accept`, `reject` and `pending`: pending changes and their decisions.

mod bad;
mod decide;
mod dialog;
mod sample;
