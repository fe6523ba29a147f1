//! What the paths of OpenAI and of Azure tell.

use crate::request_head::decoded;

/// Azure's deployment, which stands for the model.
pub(crate) fn deployment(path: &str) -> Option<String> {
    const MOUNT: &[u8] = b"/openai/deployments/";
    // Most paths are no longer than that: nothing is prepared to search them.
    let at = path.as_bytes().windows(MOUNT.len()).position(|part| part == MOUNT)?;
    let rest = path.get(at + MOUNT.len()..)?;
    decoded(rest.split('/').next()?)
}

/// The path without a first segment `v1`.
pub(crate) fn unversioned(path: &str) -> &str {
    let rest = path.strip_prefix("/v1");
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}
