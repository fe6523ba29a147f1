//! The headers of a call that tell loomrec something, each with what it can do to a strict replay.

use http::HeaderMap;

use loomrec_dialect::compat::header_chaos::CHAOS_PREFIX;
use loomrec_dialect::compat::test_name::HEADER_NAME;
use loomrec_engine::ClientEffect;
use loomrec_engine::tool_bridge::BRIDGE_HEADER;
use loomrec_fault::FAULT_HEADER;
use loomrec_recording::redact::{CallCredentials, is_clean};

/// A header that tells loomrec something.
#[derive(Clone, Copy, Debug)]
pub struct ClientHeader {
    /// The name, or what it begins with.
    pub name: &'static str,
    /// Whether `name` is the beginning of the names of several.
    pub is_prefix: bool,
    /// What it can do to a strict replay.
    pub effect: ClientEffect,
}

/// The header that names the workflow of a call.
const WORKFLOW: &str = "x-loomrec-workflow";

/// The most bytes of a workflow's name.
const LONGEST_WORKFLOW: usize = 128;

/// The headers that tell loomrec something.
pub const CLIENT_HEADERS: [ClientHeader; 9] = [
    // Each session gets each take once, which the verdict says.
    exact_header("x-loomrec-session", ClientEffect::Harmless),
    // It chooses among the takes of the same request.
    exact_header("x-loomrec-step-id", ClientEffect::Harmless),
    // A label of metrics.
    exact_header(WORKFLOW, ClientEffect::Harmless),
    exact_header("x-loomrec-token", ClientEffect::Harmless),
    // It names the socket of a server of tools, which only calls that go upstream reach.
    exact_header(BRIDGE_HEADER, ClientEffect::Harmless),
    exact_header(FAULT_HEADER, ClientEffect::Weakens),
    prefix_header("x-loomrec-chaos-", ClientEffect::Weakens),
    prefix_header(CHAOS_PREFIX, ClientEffect::Weakens),
    // It chooses among rates that a control call has set.
    exact_header(HEADER_NAME, ClientEffect::Harmless),
];

const fn exact_header(name: &'static str, effect: ClientEffect) -> ClientHeader {
    ClientHeader { name, is_prefix: false, effect }
}

const fn prefix_header(name: &'static str, effect: ClientEffect) -> ClientHeader {
    ClientHeader { name, is_prefix: true, effect }
}

/// Returns the name of the workflow that a call belongs to. A name that is too long, or holds a secret
/// of the call, counts as absent.
pub(super) fn workflow_name(headers: &HeaderMap, secrets: &CallCredentials) -> Option<Box<str>> {
    let value = headers.get(WORKFLOW)?.as_bytes().trim_ascii();
    let is_name = (1..=LONGEST_WORKFLOW).contains(&value.len()) && is_clean(value, secrets);
    is_name.then(|| String::from_utf8_lossy(value).into())
}

/// Returns the text of a header, without the spaces around it. `None` if it is absent or blank.
///
/// # Errors
/// Names the header, and says what is wrong with it: it is given twice, or it is not plain text.
pub(super) fn single_text<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("{name}: it is given twice"));
    }
    let text = value.to_str().map_err(|_| format!("{name}: the value is not plain text"))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// Returns the first header of a call that weakens a strict replay, by its name in the table.
pub(super) fn weakening_header(headers: &HeaderMap) -> Option<&'static str> {
    headers.keys().find_map(|sent| {
        let sent = sent.as_str();
        let weakens = CLIENT_HEADERS.iter().filter(|header| header.effect == ClientEffect::Weakens);
        let is_sent = |header: &&ClientHeader| match header.is_prefix {
            false => sent == header.name,
            true => sent.starts_with(header.name),
        };
        weakens.into_iter().find(is_sent).map(|header| header.name)
    })
}
