//! The encoding of a run's metrics: each family with its name and its series.

mod server;

use std::collections::BTreeMap;
use std::fmt::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

use super::label::{ANSWERS, ENDS, MATCHED_BY, SOURCES, STATUSES};
use super::metric_families::MetricFamilies;
use super::model::ModelMetrics;
use super::route_counts::RouteCounts;
use super::time_histogram::TimeHistogram;
use super::{Metrics, ScrapeInput, text};
use crate::run_counters::RunCounters;
use loomrec_dialect::compat::{journal, telemetry_name};
use loomrec_engine::replay::MissReason;

/// The help of the counters of replays.
const REPLAYS: &str = "Calls that were not answered live, by what matched them";

/// The input of one scrape.
#[derive(Debug)]
pub(super) struct ScrapeOutput {
    pub(super) metrics: Arc<Metrics>,
    /// Those of the run, and those that its sessions add up in, if it does not count their calls.
    pub(super) counters: Vec<Arc<RunCounters>>,
    pub(super) input: ScrapeInput,
}

fn counter_value(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// Returns all metrics as text, including those that the receipt reports too and those in
    /// `input`.
    pub fn scrape(
        self: &Arc<Self>,
        counters: Vec<Arc<RunCounters>>,
        input: ScrapeInput,
        open_metrics: bool,
    ) -> String {
        let metrics = Arc::clone(self);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ScrapeOutput { metrics, counters, input }));
        let mut text = String::new();
        // Writing to a string never fails.
        let written = encode_registry(&mut text, &registry).and_then(|()| encode_eof(&mut text));
        match written {
            Ok(()) if open_metrics => text,
            _ => text::from_open_metrics(&text),
        }
    }
}

impl Collector for ScrapeOutput {
    fn encode(&self, encoder: DescriptorEncoder) -> Result {
        let mut out = MetricFamilies::new(encoder);
        self.write_calls(&mut out)?;
        self.write_models(&mut out)?;
        self.write_faults(&mut out)?;
        self.write_store(&mut out)?;
        self.write_sessions(&mut out)?;
        self.write_remote(&mut out)?;
        if self.metrics.about.compat { self.write_compat(&mut out) } else { Ok(()) }
    }
}

impl ScrapeOutput {
    /// Returns the sum of a count.
    fn sum_counts(&self, count: impl Fn(&RunCounters) -> &AtomicU64) -> u64 {
        self.counters.iter().map(|one| RunCounters::counter_value(count(one))).sum()
    }

    /// Writes the metrics of calls and their outcomes.
    fn write_calls(&self, out: &mut MetricFamilies<'_>) -> Result {
        let metrics = &*self.metrics;
        let version = [("version", env!("CARGO_PKG_VERSION")), ("mode", self.input.mode)];
        out.write_gauge(
            "loomrec_build_info",
            "Which loomrec this is, and what it does",
            &version,
            1,
        )?;
        out.write_counters("loomrec_requests", "Calls, by where their answer came from", |add| {
            for (source, statuses) in SOURCES.iter().zip(metrics.requests.chunks(STATUSES)) {
                for (status, calls) in
                    statuses.iter().enumerate().filter(|(_, c)| counter_value(c) > 0)
                {
                    let status = if status == 0 { "none".to_owned() } else { status.to_string() };
                    let labels =
                        [("mode", self.input.mode), ("source", source), ("status", &status)];
                    add(&labels, counter_value(calls))?;
                }
            }
            Ok(())
        })?;
        self.write_replays(out)?;
        out.write_counters(
            "loomrec_answers",
            "Recorded and replayed answers, by outcome",
            |add| {
                let mut answers = ANSWERS.iter().zip(&metrics.answers);
                answers.try_for_each(|(outcome, answers)| {
                    add(&[("outcome", outcome.as_str())], counter_value(answers))
                })
            },
        )?;
        let missed: Vec<_> = self.counters.iter().map(|one| one.missed_by_reason()).collect();
        out.write_counters("loomrec_mismatches", "Calls without a recorded answer", |add| {
            MissReason::ALL.iter().try_for_each(|reason| {
                let reason = reason.as_str();
                let count = missed.iter().filter_map(|one| one.get(reason)).sum();
                add(&[("reason", reason)], count)
            })
        })?;
        out.write_histograms(
            "loomrec_request_overhead_seconds",
            "Time that loomrec itself added to a call",
            [(Vec::new(), &metrics.overhead)],
        )?;
        let open = metrics.open.load(Ordering::Relaxed);
        out.write_gauge("loomrec_streams_open", "Streamed answers on their way", &[], open)?;
        out.write_counters("loomrec_streams_ended", "Streamed answers, by how they ended", |add| {
            let mut ends = ENDS.iter().zip(&metrics.ended);
            ends.try_for_each(|(how, ended)| add(&[("how", how)], counter_value(ended)))
        })
    }

    fn write_replays(&self, out: &mut MetricFamilies<'_>) -> Result {
        out.write_counters("loomrec_replays", REPLAYS, |add| {
            MATCHED_BY
                .iter()
                .zip(&self.metrics.replays)
                .try_for_each(|(by, replays)| add(&[("matched_by", *by)], counter_value(replays)))
        })
    }

    /// Writes the same under another name, which has one word for several of ours. Calls that name
    /// no workflow are those of `workflow`.
    fn compat_replays(&self, out: &mut MetricFamilies<'_>, workflow: &str) -> Result {
        let metrics = &*self.metrics;
        let mut counts: BTreeMap<(String, &str), u64> = BTreeMap::new();
        let counted = metrics.replays.iter().zip(&metrics.named_replays);
        for (by, (replays, named)) in MATCHED_BY.iter().zip(counted) {
            let (word, named) = (telemetry_name::matched_by(by), named.all_counts());
            let unnamed = counter_value(replays).saturating_sub(named.values().sum());
            *counts.entry((workflow.to_owned(), word)).or_default() += unnamed;
            for ([name], replays) in named {
                *counts.entry((name, word)).or_default() += replays;
            }
        }
        out.write_counters(telemetry_name::REPLAYS, REPLAYS, |add| {
            counts.iter().try_for_each(|((workflow, by), replays)| {
                add(&[("workflow", workflow), ("matched_by", by)], *replays)
            })
        })
    }

    /// Writes the metrics by provider and model.
    fn write_models(&self, out: &mut MetricFamilies<'_>) -> Result {
        let models = self.metrics.all_models();
        self.write_captures(out, "loomrec_captures", &models)?;
        write_latencies(out, "loomrec_upstream_latency_seconds", &models)?;
        out.write_histograms(
            "loomrec_upstream_first_byte_seconds",
            "From sending to an upstream to the first byte of its answer",
            models_with_times(&models, |model| &model.first_byte),
        )?;
        out.write_counters("loomrec_tokens", "Tokens spent, or saved by replaying", |add| {
            for model in &models {
                for (kind, tokens) in [("input", &model.input), ("output", &model.output)] {
                    let [provider, name] = model_labels(model);
                    if counter_value(&model.input) > 0 || counter_value(&model.output) > 0 {
                        add(&[provider, name, ("kind", kind)], counter_value(tokens))?;
                    }
                }
            }
            Ok(())
        })?;
        let help = "US dollars spent at upstreams, or saved by replaying";
        let all: f64 = self.counters.iter().map(|one| one.cost_usd()).sum();
        let saved: f64 = self.counters.iter().map(|one| one.saved_usd()).sum();
        let amounts = [("how", "spent", (all - saved).max(0.0)), ("how", "saved", saved)];
        out.write_amounts("loomrec_cost_usd", help, amounts)
    }

    fn write_captures(
        &self,
        out: &mut MetricFamilies<'_>,
        name: &str,
        models: &[&ModelMetrics],
    ) -> Result {
        out.write_counters(name, "Exchanges kept", |add| {
            let kept = models.iter().filter(|model| counter_value(&model.captures) > 0);
            kept.into_iter()
                .try_for_each(|model| add(&model_labels(model), counter_value(&model.captures)))
        })
    }

    /// Writes the metrics of faults.
    fn write_faults(&self, out: &mut MetricFamilies<'_>) -> Result {
        let metrics = &*self.metrics;
        out.write_counters("loomrec_faults", "Faults that happened", |add| {
            let faults = metrics.faults.sum_by(|[kind, source, _]| [kind, source]);
            faults.iter().try_for_each(|([kind, source], count)| {
                add(&[("type", kind), ("source", source)], *count)
            })
        })?;
        let triggered = metrics.triggered.sum_by(|[action, source, _]| [action, source]);
        out.write_counters("loomrec_chaos_triggered", "Actions of chaos that happened", |add| {
            triggered.iter().try_for_each(|([action, source], count)| {
                add(&[("action", action), ("source", source)], *count)
            })
        })?;
        let bypassed = metrics.bypassed.sum_by(|[action, source, _, why]| [action, source, why]);
        out.write_counters(
            "loomrec_chaos_bypassed",
            "Actions of chaos that could not happen",
            |add| {
                bypassed.iter().try_for_each(|([action, source, why], count)| {
                    add(&[("action", action), ("source", source), ("reason", why)], *count)
                })
            },
        )
    }

    /// Writes the metrics of what was stored or lost.
    fn write_store(&self, out: &mut MetricFamilies<'_>) -> Result {
        let metrics = &*self.metrics;
        out.write_histograms(
            "loomrec_store_append_seconds",
            "Time until an exchange was on disk",
            [(Vec::new(), &metrics.append)],
        )?;
        out.write_histograms(
            "loomrec_store_fold_seconds",
            "Time to fold the log into the recording",
            [(Vec::new(), &metrics.fold)],
        )?;
        let entries = i64::try_from(self.entry_count()).map_err(|_| Error)?;
        let help = "Takes that were loaded, and exchanges kept since";
        out.write_gauge("loomrec_recording_entries", help, &[], entries)?;
        out.write_counters("loomrec_lost", "Exchanges that could not be kept", |add| {
            add(&[], self.sum_counts(|one| &one.unkept))
        })?;
        let spans = &metrics.spans;
        out.write_counters("loomrec_spans_sent", "Spans that a collector accepted", |add| {
            add(&[], spans.sent_spans())
        })?;
        out.write_counters("loomrec_spans_lost", "Spans that no collector accepted", |add| {
            add(&[], spans.lost_spans())
        })?;
        let help = "Lines missing from the journal's file";
        out.write_counters("loomrec_journal_lost", help, |add| add(&[], self.input.journal_lost))
    }

    fn entry_count(&self) -> u64 {
        self.input.loaded + self.sum_counts(|one| &one.recorded)
    }

    /// Writes some of the metrics under the names of other tools.
    fn write_compat(&self, out: &mut MetricFamilies<'_>) -> Result {
        let metrics = &*self.metrics;
        self.compat_replays(out, &metrics.about.workflow)?;
        let models = metrics.all_models();
        self.write_captures(out, telemetry_name::CAPTURES, &models)?;
        write_latencies(out, telemetry_name::LATENCIES, &models)?;
        let faults = metrics.faults.sum_by(|[kind, _, workflow]| [workflow, kind]);
        out.write_counters(telemetry_name::FAULTS, "Faults that happened", |add| {
            faults.iter().try_for_each(|([workflow, kind], count)| {
                let workflow = match workflow.as_str() {
                    "" => &metrics.about.workflow,
                    named => named,
                };
                add(&[("workflow", workflow), ("fault_type", kind)], *count)
            })
        })?;
        let triggered = metrics.triggered.sum_by(|[action, _, front]| [action, front]);
        let triggered =
            triggered.into_iter().filter(|([action, _], _)| action != telemetry_name::NO_ACTION);
        let triggered: Vec<_> = triggered.collect();
        out.write_counters(telemetry_name::TRIGGERED, "Actions of chaos that happened", |add| {
            triggered.iter().try_for_each(|([action, front], count)| {
                add(&[("action", journal::action_word(action)), ("source", front)], *count)
            })
        })?;
        let bypassed = metrics.bypassed.sum_by(|[action, _, front, why]| [action, front, why]);
        out.write_counters(
            telemetry_name::BYPASSED,
            "Actions of chaos that could not happen",
            |add| {
                bypassed.iter().try_for_each(|([action, front, why], count)| {
                    let labels = [
                        ("action", journal::action_word(action)),
                        ("source", front),
                        ("reason", why),
                    ];
                    add(&labels, *count)
                })
            },
        )?;
        let fixtures = i64::try_from(self.entry_count() + self.input.rules).map_err(|_| Error)?;
        let help = "Takes that were loaded or kept, and rules of the script";
        out.write_gauge(telemetry_name::LOADED, help, &[], fixtures)?;
        metrics.routes.as_ref().map_or(Ok(()), |requests| write_requests(out, requests))
    }
}

/// Writes calls by route.
fn write_requests(out: &mut MetricFamilies<'_>, requests: &RouteCounts) -> Result {
    let all = requests.all_series();
    out.write_counters(telemetry_name::REQUESTS, "Calls, by what they were for", |add| {
        all.iter().try_for_each(|series| {
            let [method, path] = series.labels;
            let statuses = series.status_counts();
            let mut statuses = statuses.iter();
            statuses
                .try_for_each(|(status, calls)| add(&[method, path, ("status", status)], *calls))
        })
    })?;
    let help = "From a call's arrival to the end of its answer";
    let timed = all.iter().map(|series| (series.labels.to_vec(), series.took));
    out.write_histograms(telemetry_name::DURATIONS, help, timed)
}

fn model_labels(model: &ModelMetrics) -> [(&'static str, &str); 2] {
    [("provider", model.provider.name()), ("model", &model.name)]
}

fn write_latencies(out: &mut MetricFamilies<'_>, name: &str, models: &[&ModelMetrics]) -> Result {
    let help = "From sending to an upstream to the last byte of its answer";
    out.write_histograms(name, help, models_with_times(models, |model| &model.latency))
}

/// Returns the models that have durations.
fn models_with_times<'m>(
    models: &[&'m ModelMetrics],
    which: impl Fn(&'m ModelMetrics) -> &'m TimeHistogram,
) -> Vec<(Vec<(&'static str, &'m str)>, &'m TimeHistogram)> {
    let timed = models.iter().map(|model| (model_labels(model).to_vec(), which(model)));
    timed.filter(|(_, timing)| timing.to_reading().count > 0).collect()
}
