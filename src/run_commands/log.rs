//! The log on stderr: events chosen by a filter, one on each line.
//!
//! The log is off by default. Only loomrec's own events are shown: those of other crates may
//! contain parts of a request that must not be logged.

use std::fmt;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;

/// The prefix of the targets of loomrec's own events.
const OURS: &str = "loomrec";

/// Starts the log, if a filter is given.
///
/// # Errors
/// A filter that is invalid.
pub fn start(filter: Option<&str>, output: &Output) -> Result<(), CommandFailure> {
    let Some(filter) = filter.filter(|filter| !filter.trim().is_empty()) else { return Ok(()) };
    let chosen: Targets = filter.parse().map_err(|error| {
        CommandFailure::usage(format!(
            "--log {filter}: {error}; it takes a level (error, warn, info, debug, trace, off), or \
             levels by target, such as loomrec::call=info,loomrec::fault=debug"
        ))
    })?;
    let lines = LogLayer { output: output.clone() };
    tracing::subscriber::set_global_default(Registry::default().with(chosen).with(lines)).map_err(
        |error| CommandFailure::new(UNEXPECTED, format!("failed to start the log: {error}")),
    )
}

/// Writes an event as a line.
struct LogLayer {
    output: Output,
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let meta = event.metadata();
        if !is_ours(meta.target()) {
            return;
        }
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let time = OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default();
        let level = meta.level().as_str().to_lowercase();
        self.output.print_event(&level, &time, meta.target(), fields.0);
    }
}

/// Whether a target is one of loomrec's own.
fn is_ours(target: &str) -> bool {
    target.strip_prefix(OURS).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The fields of an event, in order.
#[derive(Default)]
struct EventFields(Map<String, Value>);

impl EventFields {
    fn set(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, json!(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, json!(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_targets_are_ours() {
        assert!(is_ours("loomrec") && is_ours("loomrec::call"));
        assert!(!is_ours("hyper") && !is_ours("loomrecorder") && !is_ours("hyper::loomrec"));
    }
}
