//! Voyage: embeddings of texts, of contexts and of images, and reranking.

pub(super) mod embed;
pub(super) mod rerank;
mod row;
