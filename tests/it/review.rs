//! `review`, `accept`, `reject` and `pending`: changes that wait, and what becomes of them.

mod bad;
mod decide;
mod dialog;
mod sample;
