//! The requests of the latest missed calls, kept so that their differences can be inspected.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use loomrec_recording::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;

/// At most this many requests are kept.
const KEPT: usize = 256;
/// About how many bytes they may take.
const KEPT_BYTES: usize = 16 << 20;

/// The latest missed requests, redacted.
#[derive(Debug, Default)]
pub struct RecentMisses {
    kept: Mutex<KeptMiss>,
}

#[derive(Debug, Default)]
struct KeptMiss {
    /// Each request, as an entry without an answer, with the arrival time of its call, which is
    /// unique.
    requests: VecDeque<(i64, Entry)>,
    bytes: usize,
}

impl RecentMisses {
    /// Keeps the request of a call that arrived at this time. A request larger than `KEPT_BYTES`
    /// is not kept.
    pub fn keep(&self, at: i64, observed: &NormalizedRequest) {
        let mut request = observed.to_unanswered();
        let weight = weight(&request);
        if weight > KEPT_BYTES {
            return;
        }
        // A copy, as the buffer that it was read into may be a lot larger.
        request.change_request_body(|body| Some(Bytes::copy_from_slice(body)));
        let mut kept = self.lock();
        kept.bytes += weight;
        kept.requests.push_back((at, request));
        while kept.requests.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some((_, oldest)) = kept.requests.pop_front() else { break };
            kept.bytes -= self::weight(&oldest);
        }
    }

    /// Returns the request of the call that arrived at this time, if it is still kept.
    pub(super) fn find(&self, at: i64) -> Option<Entry> {
        let kept = self.lock();
        kept.requests.iter().find(|(known, _)| *known == at).map(|(_, request)| request.clone())
    }

    fn lock(&self) -> MutexGuard<'_, KeptMiss> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes a request takes.
fn weight(request: &Entry) -> usize {
    let headers = request.request_headers().iter().map(|(name, value)| name.len() + value.len());
    let target = [request.request_path(), request.request_query()].into_iter().flatten();
    let head = target.map(str::len).sum::<usize>() + headers.sum::<usize>();
    size_of::<Entry>() + head + request.body_size()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::RecordedRequest;

    fn request(length: usize) -> NormalizedRequest {
        let request = RecordedRequest {
            method: "POST".into(),
            path: "/v1/messages".into(),
            body: vec![b'x'; length].into(),
            ..RecordedRequest::default()
        };
        NormalizedRequest::new("anthropic".into(), request, &[])
    }

    #[test]
    fn the_latest_are_kept_up_to_a_number() {
        let shelf = RecentMisses::default();
        (0..300).for_each(|at| shelf.keep(at, &request(10)));
        assert_eq!(shelf.lock().requests.len(), KEPT);
        assert!(shelf.find(300 - 257).is_none() && shelf.find(300 - 256).is_some());
    }

    #[test]
    fn the_latest_are_kept_up_to_a_size() {
        let shelf = RecentMisses::default();
        (0..40).for_each(|at| shelf.keep(at, &request(1 << 20)));
        shelf.keep(40, &request(KEPT_BYTES));
        assert!(shelf.find(40).is_none() && shelf.find(39).is_some() && shelf.find(0).is_none());
        let kept = shelf.lock();
        let sum: usize = kept.requests.iter().map(|(_, request)| weight(request)).sum();
        assert!(kept.bytes <= KEPT_BYTES && kept.bytes == sum, "{} {sum}", kept.bytes);
    }
}
