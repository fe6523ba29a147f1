//! The check of how old the replayed takes are.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::args::ExpiryArgs;
use loomrec_cli::amount::{format_span, recorded_age};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::terminal;
use loomrec_engine::replay::ReplaySource;

/// How many takes are named.
const NAMED: usize = 5;

/// The takes that are too old.
#[derive(Clone, Debug)]
pub(super) struct ExpiredTakes {
    limit: Duration,
    takes: usize,
    /// The keys of the first ones.
    named: Vec<String>,
    oldest: Duration,
    undated: usize,
}

impl ExpiredTakes {
    /// Checks the age of every take, if `--max-age` is given.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub(super) fn find(
        args: &ExpiryArgs,
        sources: &[ReplaySource],
    ) -> Result<Option<Self>, CommandFailure> {
        let Some(limit) = args.max_age.map(|limit| limit.age) else { return Ok(None) };
        let (now, named) = (SystemTime::now(), Vec::new());
        let mut found = Self { limit, takes: 0, named, oldest: Duration::ZERO, undated: 0 };
        for stored in sources.iter().flat_map(|source| source.recording.entries()) {
            let stored = stored?;
            let age = stored.entry.recorded_at.as_deref().and_then(|at| recorded_age(at, now));
            match age {
                None => found.undated += 1,
                Some(age) if age > limit => {
                    found.takes += 1;
                    found.oldest = found.oldest.max(age);
                    if found.named.len() < NAMED {
                        found.named.push(stored.name.take_key(stored.take));
                    }
                }
                Some(_) => {}
            }
        }
        Ok(Some(found))
    }

    /// Returns the message about takes that are too old, or `None` if there are none.
    pub(super) fn too_old_message(&self) -> Option<String> {
        let Self { limit, takes, named, oldest, .. } = self;
        let more = if *takes > NAMED { ", …" } else { "" };
        (*takes > 0).then(|| {
            let named = named.join(", ");
            let named = terminal::printable_line(&named);
            format!(
                "takes recorded more than {} ago: {takes}, the oldest {}: {named}{more}",
                format_span(*limit),
                format_span(*oldest),
            )
        })
    }

    /// Returns the message about takes of unknown age, or `None` if there are none.
    pub(super) fn unknown_age_message(&self) -> Option<String> {
        let count = self.undated;
        (count > 0).then(|| format!("takes that do not say when they were recorded: {count}"))
    }

    /// Returns the JSON for programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "max_age_s": self.limit.as_secs(),
            "takes": self.takes,
            "oldest_s": (self.takes > 0).then_some(self.oldest.as_secs()),
            "undated": self.undated,
        })
    }
}
