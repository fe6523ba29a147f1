//! What tells Cohere's two versions by the request.

use crate::operation::ResponseFormat;

/// Whether an answer of the first version is asked for.
pub(super) fn is_first(asked: &ResponseFormat<'_>) -> bool {
    asked.target.is_some_and(|path| path.ends_with("/v1/chat") || path.ends_with("/v1/embed"))
}
