//! Chaos in the headers of a call: loomrec's rates, and those of another tool's users.
//!
//! The latter are plain decimals, no sign, no exponent. A value that does not fit is ignored. A header
//! may be repeated, or hold several values with commas: the first counts.

use http::{HeaderMap, HeaderName};

use loomrec_fault::{ChaosForm, ChaosRates, FormedRate};
use loomrec_identity::typed_field::FieldError;

/// The beginning of the names of such headers.
pub const CHAOS_PREFIX: &str = "x-aimock-chaos-";

/// An action that has a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderAction {
    Drop,
    Malformed,
    Disconnect,
    RateLimit,
    Latency,
}

/// Each action: the end of its header's name, the warning about a value that is ignored, and the
/// warning about values that contradict each other.
const ACTIONS: [(HeaderAction, &str, &str, &str); 5] = [
    (
        HeaderAction::Drop,
        "drop",
        "x-aimock-chaos-drop was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-drop has several values: the first one counts",
    ),
    (
        HeaderAction::Malformed,
        "malformed",
        "x-aimock-chaos-malformed was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-malformed has several values: the first one counts",
    ),
    (
        HeaderAction::Disconnect,
        "disconnect",
        "x-aimock-chaos-disconnect was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-disconnect has several values: the first one counts",
    ),
    (
        HeaderAction::RateLimit,
        "ratelimit",
        "x-aimock-chaos-ratelimit was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-ratelimit has several values: the first one counts",
    ),
    (
        HeaderAction::Latency,
        "latency",
        "x-aimock-chaos-latency was ignored: its value is not a whole number from 0 to 30000",
        "x-aimock-chaos-latency has several values: the first one counts",
    ),
];

/// The warning about a header that there is not.
const UNKNOWN: &str = "a header x-aimock-chaos-… was ignored: there are drop, malformed, \
                       disconnect, ratelimit and latency";

/// The rates that the headers of a call declare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeaderChaos {
    /// The rates.
    pub rates: ChaosRates,
    /// A warning for each header of the other tool that was ignored. The texts quote no value.
    pub ignored: Vec<&'static str>,
}

impl HeaderChaos {
    /// Reads loomrec's headers and the other tool's. Ours win if both are given.
    ///
    /// # Errors
    /// Those of [`ChaosRates::from_headers`]. An invalid header of the other tool is ignored, as
    /// there.
    #[inline]
    pub fn read(headers: &HeaderMap) -> Result<Self, FieldError> {
        let mut theirs = Self::default();
        let own = ChaosRates::from_headers(headers, |name| {
            if name.as_str().starts_with(CHAOS_PREFIX) {
                theirs.apply_header(headers, name);
            }
        })?;
        Ok(Self { rates: own.layered_over(&theirs.rates), ignored: theirs.ignored })
    }

    /// Sets what the header `name` asks for. Adds a warning for a value that is ignored.
    fn apply_header(&mut self, headers: &HeaderMap, name: &HeaderName) {
        let Self { rates, ignored } = self;
        let action = &name.as_str()[CHAOS_PREFIX.len()..];
        let Some((action, _, invalid, several)) = ACTIONS.iter().find(|row| row.1 == action) else {
            ignored.push(UNKNOWN);
            return;
        };
        let lines = headers.get_all(name).iter();
        // Bytes that are not text are an invalid value.
        let values = lines.flat_map(|value| value.to_str().unwrap_or("?").split(','));
        let mut values = values.map(str::trim).filter(|value| !value.is_empty());
        let Some(first) = values.next() else { return };
        let number = parse_number(*action, first);
        if values.any(|other| {
            self::parse_number(*action, other) != number || number.is_none() && other != first
        }) {
            ignored.push(several);
        }
        let Some(number) = number else {
            ignored.push(invalid);
            return;
        };
        let formed = Some(FormedRate { rate: number, form: ChaosForm::Uniform });
        match action {
            HeaderAction::Drop => rates.drop = Some(number),
            HeaderAction::Malformed => rates.malformed = formed,
            HeaderAction::Disconnect => rates.disconnect = Some(number),
            HeaderAction::RateLimit => rates.rate_limit = formed,
            HeaderAction::Latency => rates.delay_ms = Some(number as u64),
        }
    }
}

/// Reads the value of a header: a rate, or for the latency whole milliseconds.
fn parse_number(action: HeaderAction, text: &str) -> Option<f64> {
    let is_whole = action == HeaderAction::Latency;
    let is_plain = |c: char| c.is_ascii_digit() || (c == '.' && !is_whole);
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|_| has_digit && text.chars().all(is_plain))?;
    let most = if is_whole { ChaosRates::LONGEST_DELAY_MS as f64 } else { 1.0 };
    (0.0..=most).contains(&number).then_some(number)
}

#[cfg(test)]
#[path = "header_chaos_tests.rs"]
mod tests;
