//! The patterns and rules that a redactor goes by.

use super::key_shape::ShapeFinder;
use super::rule::RedactRule;
use regex::bytes::Regex;

/// Finds credentials by their shape, by the rules of `--redact`, and by their very text.
#[derive(Clone, Debug)]
pub struct Redactor {
    pub(super) shapes: ShapeFinder,
    pub(super) rules: Vec<RedactRule>,
    /// The names that the rules give to placeholders.
    pub(super) names: Vec<String>,
    /// `Basic …` and `Bearer …`, for headers and texts: a body is full of such words.
    pub(super) schemes: Regex,
}
