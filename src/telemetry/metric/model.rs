//! Counts by provider and model, for a bounded number of models.
//!
//! A model's name comes from the request, and so may be anything: the first [`MOST`] models are
//! counted separately, all others of a provider together. A known model is found without a lock:
//! slots are taken once and never given back.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::time_histogram::{LONG, TimeHistogram};
use loomrec_provider::Provider;

/// How many models, over all providers, are counted separately.
pub const MOST: usize = 100;

/// The longest name of a model that is counted separately, in bytes.
const LONGEST: usize = 128;

/// The name under which all other models are counted.
const OTHER: &str = "other";

/// The number of slots. More than can be taken, so that every search ends soon.
const PLACES: usize = 4 * MOST;

/// The counts of one model.
#[derive(Debug)]
pub struct ModelMetrics {
    /// The provider.
    pub(super) provider: Provider,
    /// The model's name as a label.
    pub(super) name: String,
    /// Exchanges that were kept.
    pub(super) captures: AtomicU64,
    /// From sending to the upstream until the last byte of its answer.
    pub(super) latency: TimeHistogram,
    /// From sending to the upstream until the first byte of its answer.
    pub(super) first_byte: TimeHistogram,
    /// Input tokens.
    pub(super) input: AtomicU64,
    /// Output tokens.
    pub(super) output: AtomicU64,
}

impl ModelMetrics {
    fn new(provider: Provider, name: &str) -> Self {
        Self {
            provider,
            name: name.to_owned(),
            captures: AtomicU64::default(),
            latency: TimeHistogram::new(LONG),
            first_byte: TimeHistogram::new(LONG),
            input: AtomicU64::default(),
            output: AtomicU64::default(),
        }
    }
}

/// Returns a name as a label, with the characters replaced that a terminal would act on. The
/// encoder handles line ends.
pub(super) fn printable_label(name: &str) -> Cow<'_, str> {
    // Nearly every name passes this quick check.
    if name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return name.into();
    }
    let acts = |c: char| c.is_control() && c != '\n';
    if name.contains(acts) { name.replace(acts, "\u{fffd}").into() } else { name.into() }
}

/// Returns the slot at which the search for a model begins: FNV-1a over eight bytes at a time. A
/// client that chooses names which all begin at one slot makes a search visit at most all slots
/// that are taken.
fn first_slot(provider: Provider, name: &str) -> usize {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        // Mixes the high bits of a word in as well.
        mixed ^ (mixed >> 32)
    };
    let begun = mix(0xcbf2_9ce4_8422_2325, provider.table_index() as u64);
    let hash = name.as_bytes().chunks(8).fold(begun, |hash, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        mix(hash, u64::from_le_bytes(word))
    });
    hash as usize % PLACES
}

/// All models.
#[derive(Debug)]
pub(super) struct ModelTable {
    seen: Box<[OnceLock<Box<ModelMetrics>>]>,
    /// How many slots are taken, or about to be.
    taken: AtomicUsize,
    /// For each provider, all models that are not counted separately.
    others: [OnceLock<Box<ModelMetrics>>; Provider::ALL.len()],
}

impl ModelTable {
    /// Creates an empty table.
    pub(super) fn new() -> Self {
        Self {
            seen: (0..PLACES).map(|_| OnceLock::new()).collect(),
            taken: AtomicUsize::new(0),
            others: [const { OnceLock::new() }; Provider::ALL.len()],
        }
    }

    /// Returns the counts of the model of this name, or those for all others of its provider.
    pub(super) fn for_model(&self, provider: Provider, name: Option<&str>) -> &ModelMetrics {
        let name = name.filter(|name| !name.is_empty()).unwrap_or("unknown");
        if name.len() > LONGEST || name == OTHER {
            return self.other_models(provider);
        }
        self.find_or_take(provider, &printable_label(name))
            .unwrap_or_else(|| self.other_models(provider))
    }

    fn find_or_take(&self, provider: Provider, name: &str) -> Option<&ModelMetrics> {
        let start = first_slot(provider, name);
        for step in 0..PLACES {
            let place = &self.seen[(start + step) % PLACES];
            let model = match place.get() {
                Some(model) => model,
                None => self.take_slot(place, provider, name)?,
            };
            if model.provider == provider && model.name == name {
                return Some(model);
            }
        }
        None
    }

    /// Takes a free slot, unless enough are taken. If several threads try, the first one gets it.
    fn take_slot<'a>(
        &self,
        place: &'a OnceLock<Box<ModelMetrics>>,
        provider: Provider,
        name: &str,
    ) -> Option<&'a ModelMetrics> {
        let more = |taken: usize| (taken < MOST).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        let mut mine = false;
        let model = place.get_or_init(|| {
            mine = true;
            Box::new(ModelMetrics::new(provider, name))
        });
        if !mine {
            self.taken.fetch_sub(1, Ordering::AcqRel);
        }
        Some(model)
    }

    fn other_models(&self, provider: Provider) -> &ModelMetrics {
        self.others[provider.table_index()]
            .get_or_init(|| Box::new(ModelMetrics::new(provider, OTHER)))
    }

    /// Returns all counted models, sorted by provider and name. No two have the same provider and
    /// name.
    pub(super) fn all_models(&self) -> Vec<&ModelMetrics> {
        let places = self.seen.iter().chain(&self.others);
        let mut all: Vec<&ModelMetrics> =
            places.filter_map(|place| Some(&**place.get()?)).collect();
        all.sort_by(|one, other| {
            (one.provider.name(), &one.name).cmp(&(other.provider.name(), &other.name))
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(models: &ModelTable) -> Vec<(&str, &str)> {
        models
            .all_models()
            .iter()
            .map(|model| (model.provider.name(), model.name.as_str()))
            .collect()
    }

    #[test]
    fn models_beyond_the_bound_are_one_for_each_provider() {
        let models = ModelTable::new();
        for number in 0..1_000_000 {
            let provider = if number % 2 == 0 { Provider::OPEN_AI } else { Provider::COHERE };
            let model = models.for_model(provider, Some(&format!("m{number}")));
            model.captures.fetch_add(1, Ordering::Relaxed);
        }
        let all = models.all_models();
        assert_eq!(all.len(), MOST + 2);
        let sum: u64 = all.iter().map(|model| model.captures.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 1_000_000);
        let others = all.iter().filter(|model| model.name == OTHER);
        let counts: Vec<u64> = others.map(|o| o.captures.load(Ordering::Relaxed)).collect();
        assert_eq!(counts, [499_950, 499_950]);
        // A model that is counted separately stays so.
        assert_eq!(models.for_model(Provider::OPEN_AI, Some("m0")).name, "m0");
    }

    #[test]
    fn model_is_found_again_when_several_threads_are_the_first() {
        let models = ModelTable::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..90 {
                        let model = models.for_model(Provider::OPEN_AI, Some(&number.to_string()));
                        model.input.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let all = models.all_models();
        assert_eq!(all.len(), 90);
        assert!(all.iter().all(|model| model.input.load(Ordering::Relaxed) == 8));
    }

    #[test]
    fn name_is_another_when_it_is_missing_too_long_or_acts_on_a_terminal() {
        let models = ModelTable::new();
        let long = "x".repeat(LONGEST + 1);
        for name in [None, Some(""), Some("unknown"), Some("other"), Some(&*long), Some("a\x1b[2J")]
        {
            models.for_model(Provider::OPEN_AI, name);
        }
        let names = names(&models);
        assert_eq!(names, [("openai", "a\u{fffd}[2J"), ("openai", "other"), ("openai", "unknown")]);
    }

    proptest! {
        #[test]
        fn no_two_models_have_one_label(names in prop::collection::vec("\\PC{0,3}|[a\x00-\x1f]{0,2}", 0..150)) {
            let models = ModelTable::new();
            names.iter().for_each(|name| {
                models.for_model(Provider::GEMINI, Some(name));
            });
            let mut seen: Vec<String> = models.all_models().iter().map(|model| model.name.clone()).collect();
            seen.dedup();
            prop_assert_eq!(seen.len(), models.all_models().len());
        }
    }
}
