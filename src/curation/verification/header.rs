//! Checks for response headers that a replay does not send.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Problem, ProblemKind, Severity};
use loomrec_identity::pointer_token;
use loomrec_provider::directory::ApiAddress;
use loomrec_recording::Entry;
use loomrec_recording::response_header::{
    MOST_HEADERS, is_never_recorded, is_sendable, keeps_waiting, leads_away,
};

/// Adds the headers of an answer that a replay leaves out and no recorder writes.
pub(super) fn add_problems(entry: &Entry, found: &mut Vec<Problem>) {
    if entry.answer_headers().len().max(entry.answer_trailers().len()) > MOST_HEADERS {
        let text = format!("the answer has more than {MOST_HEADERS} headers: it is never replayed");
        let problem = Problem::of_file(ProblemKind::Header, Severity::Error, text);
        found.push(
            problem.with_place("/response/headers", None).with_remedy("record the call again"),
        );
        return;
    }
    // If the time of the answer is not known, every date counts as too late.
    let recorded_at = || {
        let time = entry.recorded_at.as_deref();
        let time = time.and_then(|time| OffsetDateTime::parse(time, &Rfc3339).ok());
        time.unwrap_or(OffsetDateTime::UNIX_EPOCH)
    };
    for (written, value) in entry.answer_headers() {
        let name = &*written.to_ascii_lowercase();
        let (severity, text) = if !is_sendable(name, value) {
            (Severity::Error, "a header that cannot be sent: a replay leaves it out")
        } else if is_never_recorded(name) {
            (Severity::Error, "a header that is not the answer's own: a replay leaves it out")
        } else if leads_away(name, value) && !is_own_address(entry, value) {
            (
                Severity::Warning,
                "the answer sends its client to another server: a replay leaves the address out",
            )
        } else if keeps_waiting(name, value, recorded_at) {
            (
                Severity::Warning,
                "the answer makes its client wait for more than an hour, or for a time that \
                 clients read differently: a replay leaves it out",
            )
        } else {
            continue;
        };
        let problem = Problem::of_file(ProblemKind::Header, severity, text);
        let pointer = format!("/response/headers{}", pointer_token(written));
        found.push(
            problem
                .with_place(pointer, None)
                .with_remedy("remove the header, or record the call again"),
        );
    }
}

/// Whether an address is at the upstream of the entry: a replay rewrites it.
fn is_own_address(entry: &Entry, address: &str) -> bool {
    let address = ApiAddress::parse(address);
    let Some((address, upstream)) = address.zip(entry.upstream.as_deref()) else { return false };
    let origin = entry.upstream_origin.as_deref();
    let recorded = origin.and_then(|origin| address.path_below(origin));
    recorded.or_else(|| address.path_below_public(upstream)).is_some()
}
