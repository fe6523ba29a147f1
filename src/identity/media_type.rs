//! Media types.

/// Returns the media type in a `content-type` header, without its parameters.
pub fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_do_not_count() {
        for (header, media) in [
            ("application/json; charset=utf-8", "application/json"),
            (" text/event-stream ;a=b;c", "text/event-stream"),
            ("Text/HTML", "Text/HTML"),
            (";a", ""),
            ("", ""),
        ] {
            assert_eq!(media_type(header), media, "{header}");
        }
    }
}
