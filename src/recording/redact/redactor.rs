//! The patterns and rules of a redactor.

use super::key_shape::ShapeFinder;
use super::rule::RedactRule;
use regex::bytes::Regex;

/// Finds credentials by shape, by the rules of `--redact`, and by their exact text.
#[derive(Clone, Debug)]
pub struct Redactor {
    pub(super) shapes: ShapeFinder,
    pub(super) rules: Vec<RedactRule>,
    /// The names that the rules give to placeholders.
    pub(super) names: Vec<String>,
    /// `Basic …` and `Bearer …`, for headers and messages only: a body is full of such words.
    pub(super) schemes: Regex,
}
