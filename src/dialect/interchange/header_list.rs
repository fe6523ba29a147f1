//! Lists of headers in files of other tools.

/// Returns headers with names in lower case, without the pseudo-headers of HTTP/2.
pub(super) fn in_lower_case(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let own = headers.into_iter().filter(|(name, _)| !name.starts_with(':'));
    own.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect()
}

/// Returns the value of the first header with this name, which must be in lower case.
pub(super) fn find_value<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
