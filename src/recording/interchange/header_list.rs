//! Lists of headers as files of other tools hold them.

/// Headers with their names in lower case, without those that HTTP/2 makes of the
/// first line.
pub(super) fn in_lower_case(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let own = headers.into_iter().filter(|(name, _)| !name.starts_with(':'));
    own.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect()
}

/// The value of the first header of this name, which is in lower case.
pub(super) fn find_value<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
