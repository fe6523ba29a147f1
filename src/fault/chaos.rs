//! Chaos: faults by chance, each at its own rate.
//!
//! [`ChaosRates`] are declared in a plan, in an entry, by flags and in a request's headers.
//! [`ChaosRates::layered_over`] combines two of them, and [`ChaosRates::roll_fault`] decides about
//! a call. The caller provides the random numbers: the same numbers give the same faults.

mod header;

use serde_json::{Map, Value, json};

use super::field::{
    LONGEST_LEADING_DELAY, fields_of, leading_delay, one_of, read_milliseconds, read_rate,
};
use super::kind::{Fault, HttpError};
use super::text::parse_percentage;
use loomrec_identity::typed_field::{FieldError, FieldReader, FieldResult, quoted_text};

/// The default delay of a late answer, in milliseconds.
pub const LATENCY_MS: u64 = 1_000;

/// The form that a fault takes. An action may have a rate under two names, one for each form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChaosForm {
    /// The provider's: its own 429, a stream that breaks at some event.
    #[default]
    OfProvider,
    /// The same for every provider: one 429, one broken body in place of any answer.
    Uniform,
}

/// A rate, and the form of the fault that happens at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormedRate {
    /// How often it happens, from 0 to 1.
    pub rate: f64,
    /// The form of the fault.
    pub form: ChaosForm,
}

/// The result of a roll: the fault of a call and the name of its action, and a delay before it.
#[derive(Clone, Debug, PartialEq)]
pub struct RolledChaos<'a> {
    /// The fault.
    pub fault: Fault,
    /// The name of the action.
    pub action: &'a str,
    /// For how many milliseconds the call waits before the fault happens.
    pub delay_ms: u64,
}

const FIELDS: [&str; 11] = [
    "drop",
    "malformed",
    "disconnect",
    "rate_limit",
    "latency",
    "faults",
    "dropRate",
    "malformedRate",
    "disconnectRate",
    "rateLimitRate",
    "latencyMs",
];

/// How often each fault happens, each rate from 0 (never) to 1 (always).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChaosRates {
    /// The rate of [`Fault::Drop`].
    pub drop: Option<f64>,
    /// The rate of [`Fault::Malformed`].
    pub malformed: Option<FormedRate>,
    /// The rate of [`Fault::Disconnect`].
    pub disconnect: Option<f64>,
    /// The rate of a 429 that may be retried after a second: the provider's own, or
    /// [`Fault::RateLimit`].
    pub rate_limit: Option<FormedRate>,
    /// The rate of [`Fault::Slow`].
    pub latency: Option<f64>,
    /// The delay of such an answer; [`LATENCY_MS`] if it is not given.
    pub latency_ms: Option<u64>,
    /// In milliseconds: every call waits so long, before any other action.
    pub delay_ms: Option<u64>,
    /// Any other faults, in this order, with unique names.
    pub faults: Vec<NamedFault>,
}

/// A fault that happens at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFault {
    /// The name that its roll and its reports use.
    pub name: String,
    /// How often it happens, from 0 to 1.
    pub rate: f64,
    /// The fault.
    pub fault: Fault,
}

impl ChaosRates {
    /// The largest [`delay_ms`](Self::delay_ms).
    pub const LONGEST_DELAY_MS: u64 = LONGEST_LEADING_DELAY;

    /// Reads the rates that `value` declares, each with one of its two names.
    ///
    /// # Errors
    /// If there is an unknown field, a rate outside of 0 to 1, an invalid fault, or two faults of
    /// one name.
    pub fn from_value(value: &Value) -> Result<Self, FieldError> {
        let fields = fields_of(value, "an object of rates")?;
        fields.refuse_unknown("chaos", &FIELDS)?;
        let either = |name, other| match one_of(fields, &[name, other])? {
            Some(name) => read_rate(fields, name),
            None => Ok(None),
        };
        let (latency, latency_ms) = match fields.get("latency") {
            Some(value @ Value::Object(_)) => {
                read_latency(value).map_err(|error| error.under("/latency"))?
            }
            _ => (read_rate(fields, "latency")?, None),
        };
        Ok(Self {
            drop: either("drop", "dropRate")?,
            malformed: read_formed_rate(fields, "malformed", "malformedRate")?,
            disconnect: either("disconnect", "disconnectRate")?,
            rate_limit: read_formed_rate(fields, "rate_limit", "rateLimitRate")?,
            latency,
            latency_ms,
            delay_ms: leading_delay(fields, "latencyMs")?,
            faults: read_faults(fields)?,
        })
    }

    /// The rates as they are declared.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        let name = |rate: Option<FormedRate>, [of_provider, uniform]: [&'static str; 2]| match rate
        {
            Some(FormedRate { form: ChaosForm::Uniform, .. }) => uniform,
            _ => of_provider,
        };
        let plain = |rate: Option<FormedRate>| rate.map(|formed| formed.rate);
        let malformed = name(self.malformed, ["malformed", "malformedRate"]);
        let rate_limit = name(self.rate_limit, ["rate_limit", "rateLimitRate"]);
        let rates = [
            ("drop", self.drop),
            (malformed, plain(self.malformed)),
            ("disconnect", self.disconnect),
            (rate_limit, plain(self.rate_limit)),
        ];
        for (name, rate) in rates {
            if let Some(rate) = rate {
                out.insert(name.to_owned(), rate.into());
            }
        }
        match (self.latency, self.latency_ms) {
            (Some(rate), None) => drop(out.insert("latency".to_owned(), rate.into())),
            (None, None) => {}
            (rate, delay_ms) => {
                let mut latency = Map::new();
                rate.map(|rate| latency.insert("rate".to_owned(), rate.into()));
                delay_ms.map(|delay_ms| latency.insert("delay_ms".to_owned(), delay_ms.into()));
                out.insert("latency".to_owned(), Value::Object(latency));
            }
        }
        if let Some(delay_ms) = self.delay_ms {
            out.insert("latencyMs".to_owned(), delay_ms.into());
        }
        if !self.faults.is_empty() {
            let faults = self.faults.iter().map(NamedFault::to_json);
            out.insert("faults".to_owned(), faults.collect());
        }
        Value::Object(out)
    }

    /// Whether no rate is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these rates, completed by those of `lower` that are not given here.
    #[must_use]
    pub fn layered_over(&self, lower: &Self) -> Self {
        let mut faults = self.faults.clone();
        let more =
            lower.faults.iter().filter(|one| !self.faults.iter().any(|own| own.name == one.name));
        faults.extend(more.cloned());
        Self {
            drop: self.drop.or(lower.drop),
            malformed: self.malformed.or(lower.malformed),
            disconnect: self.disconnect.or(lower.disconnect),
            rate_limit: self.rate_limit.or(lower.rate_limit),
            latency: self.latency.or(lower.latency),
            latency_ms: self.latency_ms.or(lower.latency_ms),
            delay_ms: self.delay_ms.or(lower.delay_ms),
            faults,
        }
    }

    /// Adds a fault under the name of its type. A number follows if that name is taken.
    pub fn add(&mut self, rate: f64, fault: Fault) {
        let name = free_name(&self.faults, &fault);
        self.faults.push(NamedFault { name, rate, fault });
    }

    /// Whether a rate is given for the action of this name.
    pub fn has_rate(&self, action: &str) -> bool {
        match action {
            "drop" => self.drop.is_some(),
            "malformed" => self.malformed.is_some(),
            "disconnect" => self.disconnect.is_some(),
            "rate_limit" => self.rate_limit.is_some(),
            "latency" => self.latency.is_some() || self.delay_ms.is_some(),
            other => self.faults.iter().any(|one| one.name == other),
        }
    }

    /// Whether a client may get a status below 400 under one of these faults.
    pub fn may_succeed(&self) -> bool {
        let is_fixed =
            self.malformed.is_some() || self.latency.is_some() || self.delay_ms.is_some();
        is_fixed || self.faults.iter().any(|one| one.fault.may_succeed())
    }

    /// Returns the fault of a call, if one happens. `draw` returns a number from 0 to below 1 for
    /// an action's name. It is called in a fixed order, and not for rates of 0 or 1.
    pub fn roll_fault(&self, draw: impl FnMut(&str) -> f64) -> Option<RolledChaos<'_>> {
        let delay_ms = self.delay_ms.unwrap_or(0);
        match self.roll_action(draw) {
            Some((fault, action)) => Some(RolledChaos { fault, action, delay_ms }),
            None if delay_ms > 0 => Some(RolledChaos {
                fault: Fault::Slow { delay_ms },
                action: "latency",
                delay_ms: 0,
            }),
            None => None,
        }
    }

    /// Returns the fault of an action that has a rate.
    fn roll_action(&self, mut draw: impl FnMut(&str) -> f64) -> Option<(Fault, &str)> {
        let mut fires = |name: &str, rate: Option<f64>| match rate {
            Some(rate) if rate >= 1.0 => true,
            Some(rate) if rate > 0.0 => draw(name) < rate,
            _ => false,
        };
        let of_form = |rate: Option<FormedRate>, form: ChaosForm| {
            rate.filter(|formed| formed.form == form).map(|formed| formed.rate)
        };
        if fires("drop", self.drop) {
            return Some((Fault::Drop, "drop"));
        }
        if fires("malformed", of_form(self.malformed, ChaosForm::OfProvider)) {
            return Some((Fault::Malformed { whole: false }, "malformed"));
        }
        if fires("malformed", of_form(self.malformed, ChaosForm::Uniform)) {
            return Some((Fault::Malformed { whole: true }, "malformed"));
        }
        // The uniform limit is drawn before a disconnect, the provider's after it.
        if fires("rate_limit", of_form(self.rate_limit, ChaosForm::Uniform)) {
            return Some((Fault::RateLimit, "rate_limit"));
        }
        if fires("disconnect", self.disconnect) {
            return Some((Fault::Disconnect, "disconnect"));
        }
        if fires("rate_limit", of_form(self.rate_limit, ChaosForm::OfProvider)) {
            let retry_after = Some(1.0);
            let error = HttpError { status_code: 429, retry_after, ..HttpError::default() };
            return Some((Fault::HttpError(error), "rate_limit"));
        }
        if fires("latency", self.latency) {
            let delay_ms = self.latency_ms.unwrap_or(LATENCY_MS);
            return Some((Fault::Slow { delay_ms }, "latency"));
        }
        let mut faults = self.faults.iter();
        let one = faults.find(|one| fires(&one.name, Some(one.rate)))?;
        Some((one.fault.clone(), &one.name))
    }
}

impl NamedFault {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "rate": self.rate, "fault": self.fault.to_json() })
    }
}

/// The reserved names: a fault with one of them could be taken for another action.
const ACTIONS: [&str; 5] = ["drop", "malformed", "disconnect", "rate_limit", "latency"];

/// Returns a name that no other action has.
fn free_name(faults: &[NamedFault], fault: &Fault) -> String {
    let is_taken =
        |name: &str| ACTIONS.contains(&name) || faults.iter().any(|one| one.name == name);
    let numbered = (2..).map(|number| format!("{}#{number}", fault.name()));
    let mut names = std::iter::once(fault.name().to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Reads a rate under one of two names; the name decides the form of its fault.
fn read_formed_rate(
    fields: FieldReader<'_>,
    of_provider: &'static str,
    uniform: &'static str,
) -> FieldResult<FormedRate> {
    let Some(name) = one_of(fields, &[of_provider, uniform])? else { return Ok(None) };
    let form = if name == uniform { ChaosForm::Uniform } else { ChaosForm::OfProvider };
    Ok(read_rate(fields, name)?.map(|rate| FormedRate { rate, form }))
}

fn read_latency(value: &Value) -> Result<(Option<f64>, Option<u64>), FieldError> {
    let fields = fields_of(value, "a rate")?;
    fields.refuse_unknown("latency", &["rate", "delay_ms"])?;
    Ok((read_rate(fields, "rate")?, read_milliseconds(fields, "delay_ms")?))
}

fn read_faults(fields: FieldReader<'_>) -> Result<Vec<NamedFault>, FieldError> {
    let list = fields.read_list("faults", "a list of faults, each with its rate")?;
    let mut faults: Vec<NamedFault> = Vec::new();
    for (at, value) in list.unwrap_or_default().iter().enumerate() {
        let one = read_named_fault(value, &faults)
            .map_err(|error| error.under(&format!("/faults/{at}")))?;
        faults.push(one);
    }
    Ok(faults)
}

fn read_named_fault(value: &Value, others: &[NamedFault]) -> Result<NamedFault, FieldError> {
    let fields = fields_of(value, "an object with a rate and a fault")?;
    fields.refuse_unknown("a fault by chance", &["name", "rate", "fault"])?;
    let need = |name: &str| {
        FieldError::from_reason(fields.field_place(name), "a fault by chance needs it")
    };
    let rate = read_rate(fields, "rate")?.ok_or_else(|| need("rate"))?;
    let fault = Fault::from_value(fields.get("fault").ok_or_else(|| need("fault"))?)
        .map_err(|error| error.under("/fault"))?;
    let name = match fields.read_text("name")? {
        None => free_name(others, &fault),
        Some(name) if name.is_empty() || name.contains(char::is_control) => {
            return Err(fields.wrong_value("name", "some characters on one line"));
        }
        Some(name) if ACTIONS.contains(&name.as_str()) => {
            let why =
                format!("{} is an action of chaos itself: choose another", quoted_text(&name));
            return Err(FieldError::from_reason("/name", why));
        }
        Some(name) if others.iter().any(|one| one.name == name) => {
            let why = format!("another is named {} already", quoted_text(&name));
            return Err(FieldError::from_reason("/name", why));
        }
        Some(name) => name,
    };
    Ok(NamedFault { name, rate, fault })
}

/// A rate that is written in a header or after a flag: a number, or a percentage.
fn rate_from_text(text: &str) -> Result<f64, FieldError> {
    let expected = "a rate, from 0 to 1 or from 0% to 100%";
    let wrong = || FieldError::unexpected("", expected, quoted_text(text.trim()));
    let rate = parse_percentage(text).or_else(|| text.trim().parse().ok()).ok_or_else(wrong)?;
    (0.0..=1.0).contains(&rate).then_some(rate + 0.0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
