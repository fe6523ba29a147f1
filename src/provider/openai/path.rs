//! The parts of OpenAI's and Azure's paths.

use crate::request_head::decode_segment;

/// The name of Azure's deployment, which stands for the model.
pub(crate) fn deployment_name(path: &str) -> Option<String> {
    const MOUNT: &[u8] = b"/openai/deployments/";
    // A simple search, because most paths are too short for a prepared one to pay off.
    let at = path.as_bytes().windows(MOUNT.len()).position(|part| part == MOUNT)?;
    let rest = path.get(at + MOUNT.len()..)?;
    decode_segment(rest.split('/').next()?)
}

/// The path without a first segment `v1`.
pub(crate) fn unversioned_path(path: &str) -> &str {
    let rest = path.strip_prefix("/v1");
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}
