//! Tests of identity as a whole, with Python as the oracle.

mod canonical;
mod delta;
mod key;
mod multipart;
mod oracle;
mod place;
mod query;
mod reader;
mod rules;
mod source;
