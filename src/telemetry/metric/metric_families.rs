//! The encoder's calls that write one family of metrics with its series.

use std::fmt::Result;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::time_histogram::TimeHistogram;

pub(super) type MetricLabels<'a> = [(&'static str, &'a str)];

/// Writes metric families, one after the other.
pub(super) struct MetricFamilies<'a> {
    out: DescriptorEncoder<'a>,
}

impl<'a> MetricFamilies<'a> {
    pub(super) fn new(out: DescriptorEncoder<'a>) -> Self {
        Self { out }
    }

    /// Writes a family of counters. `each` adds its series.
    pub(super) fn write_counters(
        &mut self,
        name: &str,
        help: &str,
        each: impl FnOnce(&mut dyn FnMut(&MetricLabels<'_>, u64) -> Result) -> Result,
    ) -> Result {
        let mut family = self.out.encode_descriptor(name, help, None, MetricType::Counter)?;
        each(&mut |labels, value| {
            write_series(&mut family, labels, |one| {
                one.encode_counter::<NoLabelSet, u64, f64>(&value, None)
            })
        })
    }

    pub(super) fn write_gauge(
        &mut self,
        name: &str,
        help: &str,
        labels: &MetricLabels<'_>,
        value: i64,
    ) -> Result {
        let mut family = self.out.encode_descriptor(name, help, None, MetricType::Gauge)?;
        write_series(&mut family, labels, |one| one.encode_gauge(&value))
    }

    /// Writes a family of counters of amounts, such as dollars.
    pub(super) fn write_amounts(
        &mut self,
        name: &str,
        help: &str,
        amounts: impl IntoIterator<Item = (&'static str, &'static str, f64)>,
    ) -> Result {
        let mut family = self.out.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (label, value, amount) in amounts {
            write_series(&mut family, &[(label, value)], |one| {
                one.encode_counter::<NoLabelSet, f64, f64>(&amount, None)
            })?;
        }
        Ok(())
    }

    /// Writes a family of histograms.
    pub(super) fn write_histograms<'t>(
        &mut self,
        name: &str,
        help: &str,
        each: impl IntoIterator<Item = (Vec<(&'static str, &'t str)>, &'t TimeHistogram)>,
    ) -> Result {
        let mut family = self.out.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, timing) in each {
            let read = timing.to_reading();
            write_series(&mut family, &labels, |one| {
                one.encode_histogram::<NoLabelSet>(read.sum, read.count, &read.buckets, None)
            })?;
        }
        Ok(())
    }
}

/// Writes one series of a family. Without labels there are no braces.
fn write_series(
    family: &mut MetricEncoder<'_>,
    labels: &MetricLabels<'_>,
    write: impl FnOnce(&mut MetricEncoder<'_>) -> Result,
) -> Result {
    match labels {
        [] => write(family),
        labels => write(&mut family.encode_family(&labels)?),
    }
}
