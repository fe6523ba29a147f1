//! Which of Cohere's two versions a request uses.

use crate::operation::ResponseFormat;

/// Whether the request is for the first version.
pub(super) fn is_first(format: &ResponseFormat<'_>) -> bool {
    format.target.is_some_and(|path| path.ends_with("/v1/chat") || path.ends_with("/v1/embed"))
}
