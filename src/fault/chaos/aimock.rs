//! Chaos as aimock writes it: the values of its headers.
//!
//! The grammar is that of aimock 1.43: plain decimals, no sign, no exponent. A value that does not
//! fit is ignored. A header may be repeated, or hold several values with commas: the first counts.

use http::{HeaderMap, HeaderName};

use super::{ChaosForm, ChaosRates, FormedRate};
use crate::field::LONGEST_AIMOCK_DELAY;

/// The prefix of aimock's headers.
pub(super) const PREFIX: &str = "x-aimock-chaos-";

/// An action that aimock has a header for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AimockAction {
    Drop,
    Malformed,
    Disconnect,
    RateLimit,
    Latency,
}

/// Each action: the end of its header's name, the warning about a value that is ignored, and the
/// warning about values that contradict each other.
const ACTIONS: [(AimockAction, &str, &str, &str); 5] = [
    (
        AimockAction::Drop,
        "drop",
        "x-aimock-chaos-drop was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-drop has several values: the first one counts",
    ),
    (
        AimockAction::Malformed,
        "malformed",
        "x-aimock-chaos-malformed was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-malformed has several values: the first one counts",
    ),
    (
        AimockAction::Disconnect,
        "disconnect",
        "x-aimock-chaos-disconnect was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-disconnect has several values: the first one counts",
    ),
    (
        AimockAction::RateLimit,
        "ratelimit",
        "x-aimock-chaos-ratelimit was ignored: its value is not a rate from 0 to 1",
        "x-aimock-chaos-ratelimit has several values: the first one counts",
    ),
    (
        AimockAction::Latency,
        "latency",
        "x-aimock-chaos-latency was ignored: its value is not a whole number from 0 to 30000",
        "x-aimock-chaos-latency has several values: the first one counts",
    ),
];

/// The warning about a header that aimock does not have.
const UNKNOWN: &str = "a header x-aimock-chaos-… was ignored: there are drop, malformed, \
                       disconnect, ratelimit and latency";

impl ChaosRates {
    /// Sets what aimock's header `name` asks for. Adds a warning for a value that is ignored.
    pub(super) fn set_aimock(
        &mut self,
        action: &str,
        headers: &HeaderMap,
        name: &HeaderName,
        ignored: &mut Vec<&'static str>,
    ) {
        let Some((action, _, invalid, several)) = ACTIONS.iter().find(|row| row.1 == action) else {
            ignored.push(UNKNOWN);
            return;
        };
        let lines = headers.get_all(name).iter();
        // Bytes that are not text are an invalid value.
        let values = lines.flat_map(|value| value.to_str().unwrap_or("?").split(','));
        let mut values = values.map(str::trim).filter(|value| !value.is_empty());
        let Some(first) = values.next() else { return };
        let number = number(*action, first);
        if values.any(|other| {
            self::number(*action, other) != number || number.is_none() && other != first
        }) {
            ignored.push(several);
        }
        let Some(number) = number else {
            ignored.push(invalid);
            return;
        };
        let formed = Some(FormedRate { rate: number, form: ChaosForm::Aimock });
        match action {
            AimockAction::Drop => self.drop = Some(number),
            AimockAction::Malformed => self.malformed = formed,
            AimockAction::Disconnect => self.disconnect = Some(number),
            AimockAction::RateLimit => self.rate_limit = formed,
            AimockAction::Latency => self.delay_ms = Some(number as u64),
        }
    }
}

/// Reads the value of a header: a rate, or for the latency whole milliseconds.
fn number(action: AimockAction, text: &str) -> Option<f64> {
    let is_whole = action == AimockAction::Latency;
    let is_plain = |c: char| c.is_ascii_digit() || (c == '.' && !is_whole);
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|_| has_digit && text.chars().all(is_plain))?;
    let most = if is_whole { LONGEST_AIMOCK_DELAY as f64 } else { 1.0 };
    (0.0..=most).contains(&number).then_some(number)
}
