//! OpenTelemetry spans, in the conventions of OpenInference and for generative AI.

mod attribute;
mod message;
mod raw;
mod read;
mod span;
mod write;

pub(super) use read::read;
pub(super) use write::entry as span;
