//! Finds the name that was meant by one that nobody knows.

/// How much alike two names are at least of which one was meant by the other.
const ALIKE: f64 = 0.7;

/// The name of `known` that is most like `written`, where one is like it at all. Of
/// names that are equally alike it is the last. Nothing is ever decided by this: it is
/// for the hint in a message.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let alike = |known: &&'a str| (strsim::jaro(written, known), *known);
    let near = known.iter().map(alike).filter(|(likeness, _)| *likeness > ALIKE);
    near.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_most_like_what_was_written_is_the_nearest() {
        assert_eq!(nearest("recordng", &["record", "recording", "replay"]), Some("recording"));
        assert_eq!(nearest("txt", &["text", "tool_call"]), Some("text"));
        assert_eq!(nearest("zzz", &["text", "tool_call"]), None);
        assert_eq!(nearest("", &["text"]), None);
        assert_eq!(nearest("text", &[]), None);
    }
}
