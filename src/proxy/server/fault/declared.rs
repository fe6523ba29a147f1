//! Faults that a call declares itself, in its headers.

use http::{HeaderMap, HeaderName, StatusCode};

use super::super::client_header;
use loomrec_dialect::compat::header_chaos::{CHAOS_PREFIX, HeaderChaos};
use loomrec_engine::RunStrictness;
use loomrec_fault::{ChaosRates, Fault};
use loomrec_recording::redact::{CallCredentials, is_clean};

/// The header that declares the fault of one call.
const FAULT: HeaderName = HeaderName::from_static("x-loomrec-fault");

/// The faults that the headers of a call declare.
#[derive(Debug, Default)]
pub(super) struct FaultHeaders {
    pub(super) fault: Option<Fault>,
    pub(super) rates: Option<ChaosRates>,
    /// A warning for each header that was ignored.
    pub(super) ignored: Vec<&'static str>,
}

impl FaultHeaders {
    /// Reads the headers, and asks the strictness of the run about the faults in them.
    ///
    /// # Errors
    /// Names the header that is invalid or refused, and says why.
    pub(super) fn admitted(
        headers: &HeaderMap,
        strictness: &RunStrictness,
    ) -> Result<Self, String> {
        let read = Self::of(headers)?;
        if !read.is_empty() {
            let name = client_header::weakening(headers).unwrap_or("of a fault");
            strictness.admit(&format!("header {name}")).map_err(|why| why.to_string())?;
        }
        Ok(read)
    }

    /// Reads the headers.
    ///
    /// # Errors
    /// Names the invalid header, and says what is wrong with it.
    fn of(headers: &HeaderMap) -> Result<Self, String> {
        let text = |name: HeaderName| -> Result<Option<&str>, String> {
            let mut values = headers.get_all(&name).iter();
            let Some(value) = values.next() else { return Ok(None) };
            if values.next().is_some() {
                return Err(format!("{name}: it is given twice"));
            }
            let text =
                value.to_str().map_err(|_| format!("{name}: the value is not plain text"))?;
            Ok(Some(text.trim()).filter(|text| !text.is_empty()))
        };
        let fault = match text(FAULT)? {
            Some(text) => Some(Fault::parse(text).map_err(|error| format!("{FAULT}: {error}"))?),
            None => None,
        };
        let HeaderChaos { rates, ignored } =
            HeaderChaos::read(headers).map_err(|error| error.to_string())?;
        let rates = Some(rates).filter(|rates| !rates.is_empty());
        Ok(Self { fault, rates, ignored })
    }

    /// Whether no header that declares faults contains one of these secrets.
    pub(super) fn are_clean(headers: &HeaderMap, secrets: &CallCredentials) -> bool {
        let declares = |name: &HeaderName| {
            name.as_str().starts_with("x-loomrec-") || name.as_str().starts_with(CHAOS_PREFIX)
        };
        let mut declared = headers.iter().filter(|(name, _)| declares(name));
        declared.all(|(_, value)| is_clean(value.as_bytes(), secrets))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fault.is_none() && self.rates.is_none()
    }
}

/// The status for a call whose headers declare an invalid fault.
pub(super) const REFUSED: StatusCode = StatusCode::BAD_REQUEST;
