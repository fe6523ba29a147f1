//! Faults that are declared for one call: in its headers, and by rates that are set while the run
//! goes on.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, StatusCode};

use super::super::{Proxy, client_header};
use loomrec_dialect::compat::header_chaos::{CHAOS_PREFIX, HeaderChaos};
use loomrec_dialect::compat::test_name::test_of;
use loomrec_engine::{AnswerDeclarer, IncomingCall, RunStrictness};
use loomrec_fault::{ChaosRates, EntryFault, FAULT_HEADER, Fault, FaultDeclarations};
use loomrec_recording::redact::{CallCredentials, is_clean};
use loomrec_script::DeclaredFault;

/// The faults that are declared for one call, whatever answers it.
#[derive(Debug, Default)]
pub(super) struct CallDeclarations {
    pub(super) headers: Option<Box<FaultHeaders>>,
    /// The rates that are set for it while the run goes on.
    pub(super) run_time: Option<Arc<ChaosRates>>,
}

/// The faults that the headers of a call declare.
#[derive(Debug, Default)]
pub(super) struct FaultHeaders {
    pub(super) fault: Option<Fault>,
    pub(super) rates: Option<ChaosRates>,
    /// A warning for each header that was ignored.
    ignored: Vec<&'static str>,
}

impl CallDeclarations {
    /// Reads what is declared for a call. What its headers cannot declare is warned of.
    ///
    /// # Errors
    /// Says why a header is invalid or refused, without credentials.
    pub(super) fn read(proxy: &Proxy, call: &IncomingCall) -> Result<Self, String> {
        let admitted = FaultHeaders::read_admitted(&call.headers, &proxy.strictness);
        let headers = admitted.map_err(|why| refusal_text(proxy, call, why))?;
        let ignored = headers.iter().flat_map(|headers| &headers.ignored);
        ignored.for_each(|text| proxy.faults.add_warning((*text).to_owned()));
        Ok(Self { headers, run_time: run_time_rates(proxy, call) })
    }

    /// Whether its headers declare no fault.
    pub(super) fn is_without_headers(&self) -> bool {
        self.headers.as_ref().is_none_or(|headers| headers.is_empty())
    }

    /// Returns the rates that its headers declare.
    pub(super) fn header_rates(&self) -> Option<&ChaosRates> {
        self.headers.as_ref()?.rates.as_ref()
    }

    /// Returns them together with the faults of the entry or the rule that would answer the call.
    pub(super) fn with_those_of<'a>(
        &'a self,
        declarer: Option<&'a AnswerDeclarer<'a>>,
    ) -> FaultDeclarations<'a> {
        let declared = declarer.and_then(|declarer| declarer.declared);
        let entry = declarer.zip(declared).and_then(|(AnswerDeclarer { name, .. }, declared)| {
            Some(EntryFault { name, rule: declared.rule()?, alone: declared.is_alone() })
        });
        FaultDeclarations {
            header: self.headers.as_ref().and_then(|headers| headers.fault.as_ref()),
            header_rates: self.header_rates(),
            entry,
            entry_rates: declared.and_then(DeclaredFault::chaos_rates),
            run_time_rates: self.run_time.as_deref(),
        }
    }
}

/// Returns the rates that are set for a call while the run goes on.
fn run_time_rates(proxy: &Proxy, call: &IncomingCall) -> Option<Arc<ChaosRates>> {
    let run_time = &proxy.faults.run_time;
    // Most runs set none, so the test of the call is not looked for.
    let test = match run_time.is_set() && proxy.telemetry.metrics.is_compat() {
        true => test_of(&call.headers, call.storable_request().query()),
        false => None,
    };
    run_time.rates_for(call.storable_request().session.as_deref(), test.as_deref())
}

/// Returns the text that says why a header is refused. It may quote a part of a value, and a part of a
/// credential would not be redacted.
fn refusal_text(proxy: &Proxy, call: &IncomingCall, why: String) -> String {
    match FaultHeaders::are_clean(&call.headers, call.secrets()) {
        true => proxy.redactor.redact_text(&why, call.secrets()).into_owned(),
        false => "a header that declares a fault holds a credential of the call".to_owned(),
    }
}

impl FaultHeaders {
    /// Reads the headers, and asks the strictness of the run about the faults in them. `None` if
    /// there is no such header.
    ///
    /// # Errors
    /// Names the header that is invalid or refused, and says why.
    fn read_admitted(
        headers: &HeaderMap,
        strictness: &RunStrictness,
    ) -> Result<Option<Box<Self>>, String> {
        let Some(name) = client_header::weakening_header(headers) else { return Ok(None) };
        let fault = client_header::single_text(headers, FAULT_HEADER)?.map(Fault::parse);
        let fault = fault.transpose().map_err(|error| format!("{FAULT_HEADER}: {error}"))?;
        let HeaderChaos { rates, ignored } =
            HeaderChaos::read(headers).map_err(|error| error.to_string())?;
        let rates = Some(rates).filter(|rates| !rates.is_empty());
        let read = Self { fault, rates, ignored };
        if !read.is_empty() {
            strictness.admit(&format!("header {name}")).map_err(|why| why.to_string())?;
        }
        Ok(Some(Box::new(read)))
    }

    /// Whether no header that declares faults contains one of these secrets.
    fn are_clean(headers: &HeaderMap, secrets: &CallCredentials) -> bool {
        let declares = |name: &HeaderName| {
            name.as_str().starts_with("x-loomrec-") || name.as_str().starts_with(CHAOS_PREFIX)
        };
        let mut declared = headers.iter().filter(|(name, _)| declares(name));
        declared.all(|(_, value)| is_clean(value.as_bytes(), secrets))
    }

    fn is_empty(&self) -> bool {
        self.fault.is_none() && self.rates.is_none()
    }
}

/// The status for a call whose headers declare an invalid fault.
pub(super) const REFUSED: StatusCode = StatusCode::BAD_REQUEST;
