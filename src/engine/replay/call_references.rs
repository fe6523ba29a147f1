//! References to calls of tools in the body of a request, found without parsing it.

use std::collections::HashSet;

use memchr::memmem;

/// What a body has that refers to calls of tools.
const REFERENCES: [&[u8]; 7] = [
    b"\"tool_call_id\"",
    b"\"tool_use_id\"",
    b"\"call_id\"",
    b"\"toolUseId\"",
    b"\"functionResponse\"",
    b"\"function_response\"",
    b"\"tool_results\"",
];

/// Whether a body may refer to calls of tools.
pub(super) fn refers_to_calls(body: &[u8]) -> bool {
    REFERENCES.iter().any(|name| memmem::find(body, name).is_some())
}

/// Whether a body may refer to a call by an id that no recorded answer gave.
pub(super) fn has_other_ids(body: &[u8], given: &HashSet<String>) -> bool {
    let is_other = |name: &[u8]| {
        memmem::find_iter(body, name).any(|at| {
            let rest = body[at + name.len()..].trim_ascii_start();
            let value = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
            let Some(text) = value.and_then(|value| value.strip_prefix(b"\"")) else { return true };
            let end = memchr::memchr(b'"', text).unwrap_or(text.len());
            !std::str::from_utf8(&text[..end]).is_ok_and(|id| given.contains(id))
        })
    };
    REFERENCES.iter().any(|name| is_other(name))
}
