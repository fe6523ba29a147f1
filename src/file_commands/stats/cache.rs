//! How the conversations of a recording used their provider's prompt cache: what each call read
//! from it, and why it did not read the rest.
//!
//! A call is compared with the earlier call that it continues, never with the one before it in the
//! recording: calls that run at once, and helpers with a prompt of their own, break nothing.

use std::collections::{BTreeMap, BTreeSet};

use loomrec_curation::history::{
    ContinuedCall, PrefixChange, PrefixChangeWords, PromptPart, PromptPrefix, RequestHistory,
    continued_calls,
};
use loomrec_provider::TokenUsage;
use loomrec_recording::cost::{PriceTable, priced_model};
use loomrec_recording::timestamp;
use loomrec_store::{Recording, StoreError, StoredEntry, TakeRef};

use loomrec_cli::short_key::short_key;

/// The fewest tokens of a prompt that a provider caches without being asked to, and the step in
/// which it counts them: <https://platform.openai.com/docs/guides/prompt-caching>.
const LEAST_AUTOMATIC: u64 = 1024;
const AUTOMATIC_STEP: u64 = 128;

/// A call of a conversation, without its texts.
struct CachedCall {
    key: String,
    place: TakeRef,
    prefix: Option<PromptPrefix>,
    usage: TokenUsage,
    upstream: Option<String>,
    /// The model that the call is priced by.
    model: Option<String>,
    /// When it was recorded, in microseconds.
    at: Option<i64>,
}

/// What a provider says of its cache, by upstream and model.
#[derive(Default)]
struct CacheReports {
    /// Those whose answers name tokens that were read from a cache, or written to one.
    reporting: BTreeSet<(Option<String>, Option<String>)>,
    /// Of these, those whose answers name tokens that were written: what is cached is marked in the
    /// request.
    marked: BTreeSet<(Option<String>, Option<String>)>,
}

/// Why a call did not read all that the cache should hold of its conversation.
#[derive(Debug)]
pub(super) enum CacheLoss {
    /// Its prompt does not begin with the earlier one.
    Changed(PrefixChange, Option<PrefixChangeWords>),
    /// Its prompt begins with the earlier one, and the provider did not serve it from the cache.
    Missed,
}

/// A call that did not read all that the cache should hold.
#[derive(Debug)]
pub(super) struct LostCache {
    /// The key of the call.
    pub(super) key: String,
    /// The key of the earlier call that it continues.
    pub(super) earlier: String,
    /// Its number in the conversation.
    pub(super) turn: usize,
    /// The time since the earlier call, in microseconds.
    pub(super) after: Option<i64>,
    pub(super) why: CacheLoss,
    /// How many more tokens it would have read. `None` if the provider says nothing of its cache.
    pub(super) tokens: Option<u64>,
    /// What they cost more than if they had been read. `None` if the price is unknown.
    pub(super) cost: Option<f64>,
}

/// A conversation of at least two calls.
#[derive(Debug, Default)]
pub(super) struct CachedConversation {
    /// The key of its first call.
    pub(super) key: String,
    pub(super) calls: usize,
    pub(super) usage: TokenUsage,
    pub(super) losses: Vec<LostCache>,
}

impl CachedConversation {
    /// Returns the number of calls whose prompt changed.
    pub(super) fn changed_count(&self) -> usize {
        let is_changed = |loss: &&LostCache| matches!(loss.why, CacheLoss::Changed(..));
        self.losses.iter().filter(is_changed).count()
    }
}

/// Returns the conversations of a recording, in the order of their first calls.
///
/// # Errors
/// A recording that cannot be read.
pub(super) fn read_conversations(
    recording: &Recording,
    prices: &PriceTable,
) -> Result<Vec<CachedConversation>, StoreError> {
    let (mut calls, mut histories) = (Vec::new(), Vec::new());
    for stored in recording.entries() {
        let stored = stored?;
        histories.push(RequestHistory::of_entry(&stored.entry));
        calls.push(CachedCall::from_stored_entry(stored));
    }
    let histories: Vec<_> = histories.iter().map(Option::as_ref).collect();
    let continued = continued_calls(&histories);
    let reports = CacheReports::from_calls(&calls);
    let mut first: Vec<usize> = (0..calls.len()).collect();
    let mut found: BTreeMap<usize, CachedConversation> = BTreeMap::new();
    // An earlier call has a smaller turn, in whatever order they are stored.
    let mut order: Vec<(usize, ContinuedCall)> =
        continued.iter().enumerate().filter_map(|(at, call)| Some((at, (*call)?))).collect();
    order.sort_by_key(|(at, call)| (call.turn, *at));
    for (at, call) in order {
        let Some(link) = CacheLink::from_calls(recording, &calls, at, call)? else { continue };
        first[at] = first[call.earlier];
        let root = &calls[first[at]];
        let conversation = found.entry(first[at]).or_insert_with(|| CachedConversation {
            key: root.key.clone(),
            calls: 1,
            usage: root.usage,
            losses: Vec::new(),
        });
        conversation.calls += 1;
        add_usage(&mut conversation.usage, &calls[at].usage);
        conversation.losses.extend(link.lost_cache(&reports, prices, call.turn));
    }
    Ok(found.into_values().collect())
}

/// A call and the earlier one whose cache it may use.
struct CacheLink<'c> {
    earlier: &'c CachedCall,
    call: &'c CachedCall,
    change: Option<(PrefixChange, Option<PrefixChangeWords>)>,
}

impl<'c> CacheLink<'c> {
    /// Returns the link of a call to the one that it continues; `None` if it cannot use the cache of
    /// that one: it asks another model, or has a prompt of another kind.
    fn from_calls(
        recording: &Recording,
        calls: &'c [CachedCall],
        at: usize,
        continued: ContinuedCall,
    ) -> Result<Option<Self>, StoreError> {
        let (earlier, call) = (&calls[continued.earlier], &calls[at]);
        let (Some(before), Some(now)) = (&earlier.prefix, &call.prefix) else { return Ok(None) };
        if !now.may_share_cache(before) {
            return Ok(None);
        }
        let Some(change) = now.first_change(before, continued.is_stored) else {
            return Ok(Some(Self { earlier, call, change: None }));
        };
        let (first, second) =
            (recording.read_entry(&earlier.place)?, recording.read_entry(&call.place)?);
        let bodies = first.request_body().zip(second.request_body());
        let words = bodies.and_then(|(a, b)| PrefixChangeWords::of_bodies(change, a, b));
        let is_other_agent = change.part == PromptPart::System
            && words.as_ref().is_some_and(|words| !words.is_alike);
        Ok((!is_other_agent).then_some(Self { earlier, call, change: Some((change, words)) }))
    }

    /// Returns what the call did not read from the cache, and why; `None` if it lost nothing.
    fn lost_cache(
        self,
        reports: &CacheReports,
        prices: &PriceTable,
        turn: usize,
    ) -> Option<LostCache> {
        let expected = reports.expected_tokens(self.earlier, self.call);
        let usage = self.call.usage;
        let room = usage.prompt_tokens.saturating_sub(usage.cached_tokens);
        let lost = expected.map(|held| held.saturating_sub(usage.cached_tokens).min(room));
        let is_marked = reports.marked.contains(&self.call.source());
        let why = match self.change {
            // The newest message may differ where nothing is known of tokens: all before it is as
            // it was.
            Some((change, words)) if lost.map_or(!change.is_last, |lost| lost > 0) => {
                CacheLoss::Changed(change, words)
            }
            Some(_) => return None,
            // What is cached without a mark is served as far as it goes: a part is no miss.
            None if is_marked && lost.is_some_and(|lost| lost > 0) => CacheLoss::Missed,
            None if lost.zip(expected).is_some_and(|(lost, held)| held > 0 && lost * 2 > held) => {
                CacheLoss::Missed
            }
            None => return None,
        };
        Some(LostCache {
            key: self.call.key.clone(),
            earlier: self.earlier.key.clone(),
            turn,
            after: self.call.at.zip(self.earlier.at).map(|(now, before)| now - before),
            why,
            tokens: lost,
            cost: lost.and_then(|lost| self.call.cost_of(lost, prices)),
        })
    }
}

impl CachedCall {
    fn from_stored_entry(stored: StoredEntry) -> Self {
        let StoredEntry { name, take, entry, place } = stored;
        let asked = entry.model_in_head();
        let model =
            priced_model(entry.upstream.as_deref(), asked.as_deref(), entry.model.as_deref());
        Self {
            key: short_key(&name, take),
            place,
            prefix: PromptPrefix::of_entry(&entry),
            usage: entry.usage.unwrap_or_default(),
            model: model.map(str::to_owned),
            at: entry.recorded_at.as_deref().and_then(timestamp::parse_micros),
            upstream: entry.upstream,
        }
    }

    fn source(&self) -> (Option<String>, Option<String>) {
        (self.upstream.clone(), self.model.clone())
    }

    /// Returns how much less the call would have cost if it had read this many more tokens from the
    /// cache.
    fn cost_of(&self, lost: u64, prices: &PriceTable) -> Option<f64> {
        let (upstream, model) = (self.upstream.as_deref(), self.model.as_deref()?);
        let read = TokenUsage {
            cached_tokens: self.usage.cached_tokens.saturating_add(lost),
            cache_write_tokens: self.usage.cache_write_tokens.saturating_sub(lost),
            ..self.usage
        };
        let paid = prices.call_cost(upstream, model, &self.usage)?;
        Some((paid - prices.call_cost(upstream, model, &read)?).max(0.0))
    }
}

impl CacheReports {
    fn from_calls(calls: &[CachedCall]) -> Self {
        let mut reports = Self::default();
        for call in calls {
            if call.usage.cached_tokens > 0 || call.usage.cache_write_tokens > 0 {
                reports.reporting.insert(call.source());
            }
            if call.usage.cache_write_tokens > 0 {
                reports.marked.insert(call.source());
            }
        }
        reports
    }

    /// Returns how many tokens of the later prompt the cache should hold after the earlier call;
    /// `None` if the provider says nothing of a cache.
    fn expected_tokens(&self, earlier: &CachedCall, call: &CachedCall) -> Option<u64> {
        let source = call.source();
        let usage = earlier.usage;
        if self.marked.contains(&source) {
            return Some(usage.cached_tokens.saturating_add(usage.cache_write_tokens));
        }
        let is_cached = usage.prompt_tokens >= LEAST_AUTOMATIC;
        let held =
            if is_cached { usage.prompt_tokens / AUTOMATIC_STEP * AUTOMATIC_STEP } else { 0 };
        self.reporting.contains(&source).then_some(held)
    }
}

/// Adds the tokens of a call.
fn add_usage(sum: &mut TokenUsage, more: &TokenUsage) {
    for (sum, more) in [
        (&mut sum.prompt_tokens, more.prompt_tokens),
        (&mut sum.cached_tokens, more.cached_tokens),
        (&mut sum.cache_write_tokens, more.cache_write_tokens),
    ] {
        *sum = sum.saturating_add(more);
    }
}
