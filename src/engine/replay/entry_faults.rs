//! How often the faults that entries declare happen if the entries do not say.

use super::loaded_takes::LoadedTakes;
use super::take::ReplayTake;

impl LoadedTakes {
    /// Lets the fault of a plain entry happen at each call. `take` is not added yet. The fault of a
    /// turn happens once: the next turns come after it.
    pub(super) fn repeat_fault(&mut self, take: &mut ReplayTake) {
        let first = self.takes.last_mut().filter(|_| take.number() > 1);
        match first.filter(|it| it.under == take.under && it.number() + 1 == take.number()) {
            Some(turn) => turn.set_fault_repeats(false),
            None => take.set_fault_repeats(true),
        }
    }
}
