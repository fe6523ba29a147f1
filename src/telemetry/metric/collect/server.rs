//! The metrics of a server: its sessions, what it reads again, and object stores.

use std::fmt::{Error, Result};
use std::sync::atomic::Ordering;

use super::{MetricFamilies, ScrapeOutput};

impl ScrapeOutput {
    /// Writes the metrics of a server's sessions.
    pub(super) fn write_sessions(&self, out: &mut MetricFamilies<'_>) -> Result {
        let counts = self.input.sessions.unwrap_or_default();
        let open = i64::try_from(counts.open).map_err(|_| Error)?;
        out.write_gauge("loomrec_sessions_open", "Sessions that are open", &[], open)?;
        out.write_counters("loomrec_sessions", "Sessions, by what became of them", |add| {
            add(&[("event", "begun")], counts.begun)?;
            add(&[("event", "ended")], counts.ended)?;
            add(&[("event", "expired")], counts.expired)?;
            add(&[("event", "refused")], counts.refused)
        })
    }

    /// Writes the metrics of what a server reads again, and of object stores.
    pub(super) fn write_remote(&self, out: &mut MetricFamilies<'_>) -> Result {
        let [read, failed] = &self.metrics.reloads;
        out.write_counters(
            "loomrec_reloads",
            "Readings of certificate and recordings again",
            |add| {
                add(&[("outcome", "ok")], read.load(Ordering::Relaxed))?;
                add(&[("outcome", "failed")], failed.load(Ordering::Relaxed))
            },
        )?;
        let remote = &*self.metrics.remote;
        let [fetched, cached] = remote.load_counts();
        out.write_counters(
            "loomrec_remote_loads",
            "Recordings of object stores that were loaded",
            |add| {
                add(&[("from", "store")], fetched)?;
                add(&[("from", "cache")], cached)
            },
        )?;
        let [sent, failed] = remote.upload_counts();
        out.write_counters("loomrec_remote_uploads", "Uploads of segments", |add| {
            add(&[("outcome", "ok")], sent)?;
            add(&[("outcome", "failed")], failed)
        })?;
        let left = i64::try_from(remote.segments_left()).map_err(|_| Error)?;
        let help = "Segments that are on this machine only";
        out.write_gauge("loomrec_remote_segments_left", help, &[], left)
    }
}
