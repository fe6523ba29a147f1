//! The text of an error together with its causes.

use std::error::Error;

/// Returns an error and its causes, separated by colons. A cause whose text is already part of the
/// texts before it is left out.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<dyn Error>>,
    }

    #[test]
    fn causes_follow_and_none_is_repeated() {
        let inner = io::Error::other("no route to host");
        let middle =
            Layer { text: "connection failed: no route to host", source: Some(inner.into()) };
        let outer = Layer { text: "request not sent", source: Some(middle.into()) };
        let text = error_chain(&outer);
        assert_eq!(text, "request not sent: connection failed: no route to host");
        assert_eq!(error_chain(&Layer { text: "alone", source: None }), "alone");
    }
}
