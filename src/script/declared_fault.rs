//! The fault that an entry declares for its answer.

use serde_json::Value;

use loomrec_fault::{
    ChaosRates, DecidedFault, EntryFaultRule, Fault, FaultPoint, FaultTimes, ToolCallChange,
    ToolReplacement, TruncationEnd,
};
use loomrec_provider::ToolCall;
use loomrec_recording::entry::{CHAOS, Entry};

/// The text of an answer that is known only by its fault.
const FILLER: &str = "Mock response";
/// The most words that are added to it.
const MOST: usize = 10_000;

/// The faults that an entry declares.
#[derive(Debug)]
pub struct DeclaredFault {
    rule: Option<EntryFaultRule>,
    alone: bool,
    rates: Option<ChaosRates>,
}

impl DeclaredFault {
    /// Returns what `entry` declares; `None` if it declares nothing. If the entry has a fault and no
    /// answer, and the fault always breaks an answer, made-up words become the answer to be broken.
    ///
    /// # Errors
    /// What is wrong with the declaration.
    pub fn from_entry(entry: &mut Entry) -> Result<Option<Self>, String> {
        let rates = match entry.extra.get(CHAOS) {
            Some(value) => {
                let rates = ChaosRates::from_value(value)
                    .map_err(|error| error.under("/chaos").to_string())?;
                Some(rates).filter(|rates| !rates.is_empty())
            }
            None => None,
        };
        let Some(value) = &entry.fault else {
            return Ok(rates.map(|rates| Self { rule: None, alone: false, rates: Some(rates) }));
        };
        let mut rule =
            EntryFaultRule::from_value(value).map_err(|error| error.under("/fault").to_string())?;
        let alone = !entry.has_answer();
        if !entry.has_response() {
            // The chunks of words were never recorded, so only text can be counted.
            rule.fault.count_chunks_by_text();
        }
        if alone {
            if !rule.attempt.is_empty() {
                return Err("/fault/attempt needs an answer beside the fault, which the other \
                            attempts get: give the entry a response, or content"
                    .to_owned());
            }
            entry.remove_response();
            rule.fault.count_chunks_by_text();
            fill_answer(entry, &rule.fault)?;
        }
        Ok(Some(Self { rule: Some(rule), alone, rates }))
    }

    /// Sets whether a fault beside an answer happens at each call if the entry does not say how
    /// often.
    pub fn set_repeats(&mut self, repeats: bool) {
        self.rule.iter_mut().for_each(|rule| rule.repeats = repeats);
    }

    /// Returns the fault, and which calls get it.
    pub fn rule(&self) -> Option<&EntryFaultRule> {
        self.rule.as_ref()
    }

    /// Returns what a rule of a script declares; `None` if it declares nothing. `answered` says
    /// whether the rule has an answer, too.
    pub fn of_rule(
        fault: Option<Fault>,
        answered: bool,
        rates: Option<ChaosRates>,
    ) -> Option<Self> {
        let rates = rates.filter(|rates| !rates.is_empty());
        let declared = fault.is_some() || rates.is_some();
        let alone = fault.is_some() && !answered;
        let rule = fault.map(|fault| {
            let (times, attempt, repeats) = (None, Vec::new(), false);
            EntryFaultRule { fault, times, attempt, repeats }
        });
        declared.then_some(Self { rule, alone, rates })
    }

    /// Returns the types of what is declared.
    pub fn type_names(&self) -> String {
        let fault = self.rule.as_ref().map(|rule| rule.fault.name());
        let chaos = self.rates.as_ref().map(|_| CHAOS);
        fault.into_iter().chain(chaos).collect::<Vec<_>>().join(", ")
    }

    /// Whether the entry has the fault instead of an answer.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether every call gets the fault, for as long as nothing else answers.
    pub fn is_unlimited(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.call_limit(self.alone).is_none())
    }

    /// Whether this fault, which the entry has in place of an answer, uses up the entry's take. With
    /// `times`, the take is used up by the last of them.
    pub fn is_used_up_by(&self, decided: &DecidedFault) -> bool {
        match self.rule.as_ref().and_then(|rule| rule.times) {
            None => true,
            Some(FaultTimes::Always) => false,
            Some(FaultTimes::AtMost(_)) => decided.is_last,
        }
    }

    /// Returns the rates of chaos.
    pub fn chaos_rates(&self) -> Option<&ChaosRates> {
        self.rates.as_ref()
    }
}

/// Gives an entry that has a fault and no answer made-up words, if its fault always breaks them.
/// Any other fault that changes an answer needs a real one: without it, its calls are misses.
fn fill_answer(entry: &mut Entry, fault: &Fault) -> Result<(), String> {
    let words = match fault {
        Fault::RecoverAfter { .. } => {
            return Err("/fault recover_after needs an answer beside it, which comes after the \
                        failures: give the entry a response, or content"
                .to_owned());
        }
        Fault::ToolCallFault { change } => {
            entry.tool_calls = vec![made_up_call(change)?];
            return Ok(());
        }
        Fault::PartialResponse { content: Some(content) } => content.clone(),
        Fault::StreamTruncate(truncate) if truncate.raise != TruncationEnd::CleanEof => {
            filler_words(truncate.after)?
        }
        Fault::StreamStall { after, for_ms: None } => filler_words(*after)?,
        Fault::Malformed { whole: false } | Fault::BadEncoding => FILLER.to_owned(),
        _ => return Ok(()),
    };
    entry.content = Some(words);
    Ok(())
}

/// Returns the tool call that a fault without an answer declares.
fn made_up_call(change: &ToolCallChange) -> Result<ToolCall, String> {
    match change {
        ToolCallChange::Replaced(ToolReplacement { name: Some(name), arguments }) => Ok(ToolCall {
            id: "call_1".to_owned(),
            name: name.clone(),
            arguments: Value::Object(arguments.clone().unwrap_or_default()),
        }),
        _ => Err("/fault tool_call_fault needs an answer beside it that calls a tool: give the \
                  entry tool_calls, or the fault the name of a tool"
            .to_owned()),
    }
}

/// Returns enough words for something to happen after this point of a stream.
fn filler_words(after: FaultPoint) -> Result<String, String> {
    let enough = match after {
        FaultPoint::Default => 1,
        FaultPoint::Chunks(count) | FaultPoint::Events(count) | FaultPoint::TextEvents(count) => {
            count
        }
        FaultPoint::Bytes(bytes) => usize::try_from(bytes / 8).unwrap_or(usize::MAX),
    };
    if enough > MOST {
        return Err(
            "/fault the place is too far into the answer for an entry that has none: give \
                    the entry a response, or content"
                .to_owned(),
        );
    }
    let words = (1..=enough).map(|number| format!(" {number}"));
    Ok(FILLER.to_owned() + &words.collect::<String>())
}
