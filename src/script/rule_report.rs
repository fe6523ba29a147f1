//! What is known of a script's rules from outside: their number, their faults, and those that
//! answered nothing.

use super::Script;
use super::rule::{RuleClaim, RuleLookup, rule_label};
use crate::declared_fault::DeclaredFault;
use loomrec_recording::normalized_request::NormalizedRequest;

impl Script {
    /// Returns the number of its rules.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Returns the names of the rules that were chosen for no call.
    pub fn unused_rules(&self) -> Vec<String> {
        self.rules.unused_rule_names()
    }

    /// Returns what of the text is not played.
    pub fn unplayed_notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the names of the rules that declare faults, and the types of these.
    pub fn faulty_rules(&self) -> impl Iterator<Item = (&str, String)> {
        self.rules.iter().filter_map(|rule| Some((&*rule.name, rule.faults.as_ref()?.type_names())))
    }

    /// Returns the faults that rules declare, each with the name under which it is reported.
    pub fn declared_faults(&self) -> impl Iterator<Item = (String, &DeclaredFault)> {
        self.rules.iter().filter_map(|rule| Some((rule_label(&rule.name), rule.faults.as_ref()?)))
    }

    /// Returns the faults that a rule declares.
    pub fn declared_fault(&self, claim: &RuleClaim) -> Option<&DeclaredFault> {
        self.rules.get(claim)?.faults.as_ref()
    }

    /// Returns the rule that answers `observed`. It counts the call.
    pub fn claim_rule(&self, observed: &NormalizedRequest) -> RuleLookup {
        self.rules.claim_rule(observed)
    }
}
