//! Chaos rates in the headers of a request, and in flags.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{ChaosForm, ChaosRates, FormedRate, rate_from_text};
use crate::field::{LONGEST_MS, MILLISECONDS};
use crate::kind::Fault;
use loomrec_identity::typed_field::{FieldError, quoted_text};

const OURS: &str = "x-loomrec-chaos-";
const OWN: [&str; 7] =
    ["drop", "malformed", "disconnect", "rate-limit", "latency", "latency-ms", "fault"];

impl ChaosRates {
    /// Reads the rates in a request's headers: `x-loomrec-chaos-drop` and so on.
    /// `x-loomrec-chaos-fault: RATE=FAULT` may be given more than once. Calls `other` with the name
    /// of each other header.
    ///
    /// # Errors
    /// If one of the headers is unknown or given twice, or declares a rate outside of 0 to 1 or an
    /// invalid fault. The message names the header.
    pub fn from_headers(
        headers: &HeaderMap,
        mut other: impl FnMut(&HeaderName),
    ) -> Result<Self, FieldError> {
        let mut rates = Self::default();
        for name in headers.keys() {
            let named =
                |error: FieldError| FieldError::from_reason("", format!("header {name}: {error}"));
            if let Some(action) = name.as_str().strip_prefix(OURS) {
                rates.set_from_header(action, headers, name).map_err(named)?;
            } else {
                other(name);
            }
        }
        Ok(rates)
    }

    /// Reads `RATE=FAULT`, such as `0.2=http_error:503`.
    ///
    /// # Errors
    /// If the rate is outside of 0 to 1, or the fault is invalid.
    pub fn parse_named(text: &str) -> Result<(f64, Fault), FieldError> {
        let Some((chance, fault)) = text.split_once('=') else {
            let expected = "RATE=FAULT, such as 0.2=timeout:5000";
            return Err(FieldError::unexpected("", expected, quoted_text(text)));
        };
        Ok((rate_from_text(chance)?, Fault::parse(fault)?))
    }

    /// Sets the rate of `action` from the header `name`.
    fn set_from_header(
        &mut self,
        action: &str,
        headers: &HeaderMap,
        name: &HeaderName,
    ) -> Result<(), FieldError> {
        if !OWN.contains(&action) {
            return Err(FieldError::unknown_word("", "action", action, &OWN));
        }
        let mut values = headers.get_all(name).iter().map(header_text);
        if action == "fault" {
            for value in values {
                let (rate, fault) = Self::parse_named(value?)?;
                self.add(rate, fault);
            }
            return Ok(());
        }
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(FieldError::from_reason("", "it is given twice"));
        };
        let value = value?;
        let formed = |rate| FormedRate { rate, form: ChaosForm::OfProvider };
        match action {
            "drop" => self.drop = Some(rate_from_text(value)?),
            "malformed" => self.malformed = Some(formed(rate_from_text(value)?)),
            "disconnect" => self.disconnect = Some(rate_from_text(value)?),
            "rate-limit" => self.rate_limit = Some(formed(rate_from_text(value)?)),
            "latency" => self.latency = Some(rate_from_text(value)?),
            _ => {
                let ms = value.trim().parse().ok().filter(|ms| *ms <= LONGEST_MS);
                let why = || FieldError::unexpected("", MILLISECONDS, quoted_text(value));
                self.latency_ms = Some(ms.ok_or_else(why)?);
            }
        }
        Ok(())
    }
}

fn header_text(value: &HeaderValue) -> Result<&str, FieldError> {
    value.to_str().map_err(|_| FieldError::from_reason("", "its value is not text"))
}
