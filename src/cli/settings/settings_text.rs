//! The text of a settings file, and errors that name a line of it.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use crate::exit::CommandFailure;
use loomrec_identity::spelling::nearest_name;

/// A name in the file.
pub(super) type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

/// A settings file while it is read.
pub(super) struct SettingsText<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    pub(super) command: &'a clap::Command,
}

impl SettingsText<'_> {
    /// Returns the error of a place in the file.
    pub(super) fn error_at(&self, span: &Range<usize>, why: &str) -> CommandFailure {
        let line = line_of(self.text, span);
        CommandFailure::usage(format!("{}:{line}: {why}", self.path.display()))
    }
}

/// Returns a hint: the name that was probably meant, or all known names.
pub(super) fn name_hint(name: &str, known: &[&str]) -> String {
    match nearest_name(&name.replace('_', "-"), known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// Returns the line in which a range of a text begins.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    1 + text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count()
}
