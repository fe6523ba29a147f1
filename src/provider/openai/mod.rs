//! OpenAI, and all upstreams with its dialect: Azure, Groq, OpenRouter, Mistral, DeepSeek, xAI,
//! Together, Fireworks.

pub(super) mod answer_place;
pub(super) mod audio;
pub(super) mod chat;
mod chunk;
pub(super) mod completions;
mod dialect;
pub(super) mod embeddings;
mod error;
mod finish;
mod limit;
mod path;
mod resource;
pub(super) mod responses;
mod row;
mod run;
mod stream_error;

pub(super) use answer_place::choices as choices_shape;
pub(super) use finish::FINISH;
pub(super) use path::{deployment_name, unversioned_path};
pub(super) use row::ERRORS;
pub(super) use stream_error::stream_error;
