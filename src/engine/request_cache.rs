//! The cache of parsed requests.
//!
//! Where a request goes, how it is identified, what is stored of it and which keys it has depend on
//! nothing but its bytes. So a request that a program repeats is parsed once. A request counts as
//! repeated only if its method, target, body and every header that affects any of this are the
//! same, byte for byte. The hash only says where to look.
//!
//! A request is cached when it comes a second time; one that comes once costs a hash and a number
//! in a table. Entries and bytes are bounded: the oldest entries are removed. Each shard has its
//! own lock.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use foldhash::HashMap;
use foldhash::quality::RandomState;

use super::head_cache::{EarlierHead, RequestRef};
use super::parsed_request::ParsedRequest;

const SHARDS: usize = 16;
/// The most bytes of requests in one shard.
const SHARD_BYTES: usize = 4 << 20;
/// The most bytes in the body of a cached request.
const LARGEST: usize = 1 << 20;
/// The approximate overhead of an entry beyond its request, in bytes.
const OVERHEAD: usize = 1 << 10;
/// The number of slots for the hashes of requests that came once.
const FIRST_SEEN: usize = 1 << 14;
/// The same, for a small cache.
const FIRST_SEEN_SMALL: usize = 1 << 7;

/// The result of a lookup in the cache.
pub enum CachedRequest {
    /// It was made before; this was observed then.
    Known(Arc<ParsedRequest>),
    /// It came once before: the caller is to cache what it observes now.
    Again(RequestFingerprint),
    /// It is new, or cannot be cached.
    New,
}

/// The hash of a request that is to be cached.
pub struct RequestFingerprint(u64);

/// A request, and what was observed of it.
struct RememberedRequest {
    head: EarlierHead,
    body: Bytes,
    known: Arc<ParsedRequest>,
}

#[derive(Default)]
struct CacheShard {
    entries: HashMap<u64, RememberedRequest>,
    /// The entries' hashes, oldest first.
    order: VecDeque<u64>,
    bytes: usize,
}

/// The cache of one run.
pub struct RequestCache {
    shards: [Mutex<CacheShard>; SHARDS],
    /// Hashes of requests that came once. The hash itself decides the slot.
    first_seen: Box<[AtomicU64]>,
    hashing: RandomState,
}

impl Default for RequestCache {
    fn default() -> Self {
        Self::with_slots(FIRST_SEEN)
    }
}

impl RequestCache {
    /// Creates a cache that takes little memory while it is empty.
    pub fn with_few_slots() -> Self {
        Self::with_slots(FIRST_SEEN_SMALL)
    }

    fn with_slots(slots: usize) -> Self {
        Self {
            shards: Default::default(),
            first_seen: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            hashing: RandomState::default(),
        }
    }
}

/// Returns the hash of a request with this target.
fn fingerprint_of(raw: &RequestRef<'_>, target: &str, hashing: &RandomState) -> u64 {
    let mut hasher = hashing.build_hasher();
    hasher.write(raw.body);
    hasher.write(target.as_bytes());
    for (name, value) in raw.headers {
        // These headers tell apart calls with the same body.
        if name == http::header::AUTHORIZATION || name.as_str().starts_with("x-loomrec-") {
            hasher.write(value.as_bytes());
        }
    }
    hasher.finish()
}

impl RememberedRequest {
    /// Whether `raw` is the same request, in all parts that matter.
    fn is_same_request(&self, raw: &RequestRef<'_>, target: &str) -> bool {
        self.head.is_head_of(raw, target) && self.body == *raw.body
    }

    fn byte_size(&self) -> usize {
        let bodies = self.body.len() + self.known.body_bytes_beside(&self.body);
        OVERHEAD + self.head.byte_size() + bodies
    }
}

impl RequestCache {
    /// Looks a request up.
    pub fn look_up(&self, raw: &RequestRef<'_>) -> CachedRequest {
        let Some(target) = raw.origin_form_target().filter(|_| raw.body.len() <= LARGEST) else {
            return CachedRequest::New;
        };
        let fingerprint = fingerprint_of(raw, target, &self.hashing);
        {
            let shard = self.shard(fingerprint).lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) =
                shard.entries.get(&fingerprint).filter(|found| found.is_same_request(raw, target))
            {
                return CachedRequest::Known(Arc::clone(&found.known));
            }
        }
        let place = &self.first_seen[(fingerprint >> 32) as usize % self.first_seen.len()];
        match place.swap(fingerprint, Ordering::Relaxed) == fingerprint {
            true => CachedRequest::Again(RequestFingerprint(fingerprint)),
            false => CachedRequest::New,
        }
    }

    /// Caches what was observed of a request. The body of `raw` must not share a larger buffer.
    pub fn store_request(
        &self,
        fingerprint: &RequestFingerprint,
        raw: &RequestRef<'_>,
        known: Arc<ParsedRequest>,
    ) {
        let Some(target) = raw.origin_form_target() else { return };
        let entry = RememberedRequest {
            head: EarlierHead::from_request(raw, target),
            body: raw.body.clone(),
            known,
        };
        let size = entry.byte_size();
        if size > SHARD_BYTES / 2 {
            return;
        }
        let mut shard = self.shard(fingerprint.0).lock().unwrap_or_else(PoisonError::into_inner);
        if shard.remove(fingerprint.0) {
            shard.order.retain(|other| *other != fingerprint.0);
        }
        while shard.bytes + size > SHARD_BYTES {
            let Some(oldest) = shard.order.pop_front() else { break };
            shard.remove(oldest);
        }
        shard.bytes += size;
        shard.order.push_back(fingerprint.0);
        shard.entries.insert(fingerprint.0, entry);
    }

    fn shard(&self, fingerprint: u64) -> &Mutex<CacheShard> {
        &self.shards[fingerprint as usize % SHARDS]
    }
}

impl CacheShard {
    /// Removes an entry, but not its place in the order. Returns whether it was there.
    fn remove(&mut self, fingerprint: u64) -> bool {
        let removed = self.entries.remove(&fingerprint);
        self.bytes -= removed.as_ref().map_or(0, RememberedRequest::byte_size);
        removed.is_some()
    }
}

#[cfg(test)]
#[path = "request_cache_tests.rs"]
mod tests;
