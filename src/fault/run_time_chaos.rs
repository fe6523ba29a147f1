//! Chaos rates that are set while a run goes on, and the record of what was set.
//!
//! What is set for a test or a session replaces what is set for the run, and that replaces what the
//! run declares at its start. Rates of entries and headers still stand above it. A call that needs
//! no rates costs the read of one flag.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::chaos::ChaosRates;

/// For how many sessions and tests rates may be set at the same time.
const MOST_SCOPES: usize = 1000;
/// How many changes are kept for the receipt.
const KEPT_CHANGES: usize = 100;

/// The calls that rates are set for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChaosScope {
    /// All calls of the run.
    Run,
    /// The calls of a session.
    Session(String),
    /// The calls that name a test.
    Test(String),
}

/// A change of the rates.
#[derive(Clone, Debug, PartialEq)]
pub struct ChaosChange {
    /// Milliseconds since the run began.
    pub at_ms: f64,
    /// The calls that it is for.
    pub scope: ChaosScope,
    /// The rates that were set; `None` if they were cleared.
    pub rates: Option<Arc<ChaosRates>>,
}

/// The number of all changes, and the latest ones.
#[derive(Clone, Debug, Default)]
pub struct ChaosChanges {
    /// How many changes there were.
    pub count: u64,
    /// The latest, oldest first.
    pub latest: VecDeque<ChaosChange>,
}

/// Rates cannot be set for one more session or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rates are set for {MOST_SCOPES} sessions and tests already: clear some")]
pub struct TooManyScopes;

/// The rates that are set while a run goes on.
#[derive(Debug, Default)]
pub struct RunTimeChaos {
    is_set: AtomicBool,
    scopes: RwLock<BTreeMap<ChaosScope, Arc<ChaosRates>>>,
    changes: Mutex<ChaosChanges>,
}

impl RunTimeChaos {
    /// Whether any rates are set.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the rates of `scope` in place of those that are set for it. Empty rates mean no chaos.
    ///
    /// # Errors
    /// If there are too many scopes.
    pub fn set_rates(
        &self,
        scope: ChaosScope,
        rates: ChaosRates,
        at_ms: f64,
    ) -> Result<(), TooManyScopes> {
        let rates = Arc::new(rates);
        let mut scopes = self.scopes.write().unwrap_or_else(PoisonError::into_inner);
        if scopes.len() >= MOST_SCOPES && !scopes.contains_key(&scope) {
            return Err(TooManyScopes);
        }
        scopes.insert(scope.clone(), Arc::clone(&rates));
        self.is_set.store(true, Ordering::Release);
        self.note_change(ChaosChange { at_ms, scope, rates: Some(rates) });
        Ok(())
    }

    /// Clears the rates of `scope`: what the run declares holds again. Returns whether any were
    /// set.
    pub fn clear_rates(&self, scope: &ChaosScope, at_ms: f64) -> bool {
        let mut scopes = self.scopes.write().unwrap_or_else(PoisonError::into_inner);
        let was_set = scopes.remove(scope).is_some();
        self.is_set.store(!scopes.is_empty(), Ordering::Release);
        if was_set {
            self.note_change(ChaosChange { at_ms, scope: scope.clone(), rates: None });
        }
        was_set
    }

    /// Clears the rates of all scopes.
    pub fn clear_all(&self, at_ms: f64) {
        let mut scopes = self.scopes.write().unwrap_or_else(PoisonError::into_inner);
        self.is_set.store(false, Ordering::Release);
        for scope in std::mem::take(&mut *scopes).into_keys() {
            self.note_change(ChaosChange { at_ms, scope, rates: None });
        }
    }

    /// Returns the rates that are set for a call: those of its test, else those of its session,
    /// else those of the run.
    pub fn rates_for(&self, session: Option<&str>, test: Option<&str>) -> Option<Arc<ChaosRates>> {
        if !self.is_set() {
            return None;
        }
        let scopes = self.scopes.read().unwrap_or_else(PoisonError::into_inner);
        let test = test.map(|test| ChaosScope::Test(test.to_owned()));
        let session = session.map(|session| ChaosScope::Session(session.to_owned()));
        let mut asked = test.into_iter().chain(session).chain([ChaosScope::Run]);
        asked.find_map(|scope| scopes.get(&scope).cloned())
    }

    /// Returns the changes so far.
    pub fn changes(&self) -> ChaosChanges {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_change(&self, change: ChaosChange) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.count += 1;
        changes.latest.push_back(change);
        if changes.latest.len() > KEPT_CHANGES {
            changes.latest.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop_rate(rate: f64) -> ChaosRates {
        ChaosRates { drop: Some(rate), ..ChaosRates::default() }
    }

    fn rate(chaos: &RunTimeChaos, session: Option<&str>, test: Option<&str>) -> Option<f64> {
        chaos.rates_for(session, test).and_then(|rates| rates.drop)
    }

    #[test]
    fn the_closest_scope_replaces_the_others_until_it_is_cleared() {
        let chaos = RunTimeChaos::default();
        assert!(!chaos.is_set() && chaos.rates_for(Some("a"), None).is_none());
        chaos.set_rates(ChaosScope::Run, drop_rate(0.1), 1.0).unwrap();
        chaos.set_rates(ChaosScope::Session("a".to_owned()), drop_rate(0.2), 2.0).unwrap();
        chaos.set_rates(ChaosScope::Test("t".to_owned()), ChaosRates::default(), 3.0).unwrap();
        assert_eq!(rate(&chaos, None, None), Some(0.1));
        assert_eq!(rate(&chaos, Some("b"), Some("u")), Some(0.1));
        assert_eq!(rate(&chaos, Some("a"), None), Some(0.2));
        // Empty rates are set, and mean that there is no chaos.
        assert_eq!(chaos.rates_for(Some("a"), Some("t")).as_deref(), Some(&ChaosRates::default()));
        assert!(
            chaos.clear_rates(&ChaosScope::Run, 4.0) && !chaos.clear_rates(&ChaosScope::Run, 5.0)
        );
        assert!(chaos.is_set() && chaos.rates_for(None, None).is_none());
        assert!(chaos.clear_rates(&ChaosScope::Session("a".to_owned()), 6.0));
        assert!(chaos.clear_rates(&ChaosScope::Test("t".to_owned()), 7.0) && !chaos.is_set());
        let changes = chaos.changes();
        assert_eq!((changes.count, changes.latest.len()), (6, 6));
        assert_eq!(changes.latest[3].rates, None);
    }

    #[test]
    fn scopes_and_changes_are_bounded() {
        let chaos = RunTimeChaos::default();
        for number in 0..MOST_SCOPES {
            chaos.set_rates(ChaosScope::Session(number.to_string()), drop_rate(1.0), 0.0).unwrap();
        }
        assert_eq!(chaos.set_rates(ChaosScope::Run, drop_rate(1.0), 0.0), Err(TooManyScopes));
        chaos.set_rates(ChaosScope::Session("0".to_owned()), drop_rate(0.5), 0.0).unwrap();
        let changes = chaos.changes();
        assert_eq!((changes.count, changes.latest.len()), (MOST_SCOPES as u64 + 1, KEPT_CHANGES));
        chaos.clear_all(0.0);
        assert!(!chaos.is_set() && chaos.rates_for(Some("0"), None).is_none());
        assert_eq!(chaos.changes().count, 2 * MOST_SCOPES as u64 + 1);
    }
}
