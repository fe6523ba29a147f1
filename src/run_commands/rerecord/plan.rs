//! The plan of a run before anything is sent: how many calls for which model, and their cost as
//! estimated from the tokens of earlier answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::request::SendableRequest;
use loomrec_cli::amount::{format_dollars, format_span, recorded_age, round_dollars};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal;
use loomrec_provider::TokenUsage;
use loomrec_recording::Entry;
use loomrec_recording::cost::{PriceTable, priced_model};

/// The calls of one model.
#[derive(Clone, Copy, Debug, Default)]
struct ModelRow {
    calls: u64,
    input: u64,
    output: u64,
    cost: f64,
    /// Calls with unknown tokens or an unknown price.
    unknown: u64,
}

impl ModelRow {
    fn plus(self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cost: self.cost + other.cost,
            unknown: self.unknown + other.unknown,
        }
    }
}

/// The plan of a run.
#[derive(Clone, Default)]
pub(super) struct RerecordPlan {
    prices: Arc<PriceTable>,
    rows: BTreeMap<(String, String), ModelRow>,
    oldest: Option<String>,
}

impl RerecordPlan {
    /// Creates an empty plan with these prices.
    pub(super) fn with_prices(prices: Arc<PriceTable>) -> Self {
        Self { prices, ..Self::default() }
    }

    /// Adds a call. `old` is an earlier answer to it, or the missed request itself.
    pub(super) fn add_call(&mut self, made: &SendableRequest, old: &Entry) {
        let upstream = &made.observed.upstream;
        let asked = made.observed.call.model.clone();
        let was = old.recognise_call().and_then(|call| call.model);
        // The name of the model that answered has a date, and so its own price.
        let answered = old.model.as_deref().filter(|_| asked == was);
        let priced = priced_model(Some(upstream), asked.as_deref(), answered);
        let model = asked.clone().or_else(|| old.model.clone()).unwrap_or_else(|| "-".to_owned());
        let row = self.rows.entry((upstream.clone(), model)).or_default();
        row.calls += 1;
        let usage = old.usage.filter(|usage| *usage != TokenUsage::default());
        let cost = usage
            .zip(priced)
            .and_then(|(usage, priced)| self.prices.call_cost(Some(upstream), priced, &usage));
        let is_free = made.observed.is_free();
        let cost = cost.or_else(|| is_free.then_some(0.0));
        if let Some(usage) = usage {
            row.input = row.input.saturating_add(usage.prompt_tokens);
            row.output = row.output.saturating_add(usage.completion_tokens);
        }
        match cost {
            Some(cost) => row.cost += cost,
            None => row.unknown += 1,
        }
        if let Some(time) = &old.recorded_at
            && self.oldest.as_ref().is_none_or(|oldest| time < oldest)
        {
            self.oldest = Some(time.clone());
        }
    }

    /// Adds the calls of another plan.
    pub(super) fn add_all(&mut self, other: &Self) {
        for (model, row) in &other.rows {
            let known = self.rows.entry(model.clone()).or_default();
            *known = known.plus(row);
        }
        let oldest = [&self.oldest, &other.oldest].into_iter().flatten().min();
        self.oldest = oldest.cloned();
    }

    fn total_row(&self) -> ModelRow {
        self.rows.values().fold(ModelRow::default(), |sum, row| sum.plus(row))
    }

    /// Formats the cost in a few words.
    pub(super) fn cost_text(&self) -> String {
        let sum = self.total_row();
        match (sum.calls, sum.unknown) {
            (calls, unknown) if calls == unknown => "cost not known".to_owned(),
            (_, 0) => format!("about {}", format_dollars(sum.cost)),
            (_, unknown) => {
                format!(
                    "about {}, and the unknown cost of {unknown} of them",
                    format_dollars(sum.cost)
                )
            }
        }
    }

    /// Formats the table for people.
    pub(super) fn to_text(&self) -> String {
        let mut table = Table::new(vec![
            TableColumn::left("UPSTREAM"),
            TableColumn::left("MODEL"),
            TableColumn::right("CALLS"),
            TableColumn::right("IN"),
            TableColumn::right("OUT"),
            TableColumn::right("COST"),
        ]);
        for ((upstream, model), row) in &self.rows {
            let number = |count: u64| if count == 0 { "-".to_owned() } else { count.to_string() };
            let cost = match (row.unknown == row.calls, row.unknown) {
                (true, _) => "-".to_owned(),
                (_, 0) => format_dollars(row.cost),
                (_, unknown) => format!("{} + {unknown} unknown", format_dollars(row.cost)),
            };
            let names = [upstream, model].map(|text| terminal::printable_line(text).into_owned());
            let [upstream, model] = names;
            let numbers = [number(row.calls), number(row.input), number(row.output), cost];
            table.add_row(false, [upstream, model].into_iter().chain(numbers).collect());
        }
        let sum = self.total_row();
        let calls =
            if sum.calls == 1 { "1 call".to_owned() } else { format!("{} calls", sum.calls) };
        let age = self.oldest.as_deref().and_then(|time| recorded_age(time, SystemTime::now()));
        let oldest = age.map(|age| format!(" · the oldest answer is {} old", format_span(age)));
        format!(
            "{}{calls} · {}{}",
            table.to_text(None),
            self.cost_text(),
            oldest.unwrap_or_default()
        )
    }

    /// Returns the plan as JSON.
    pub(super) fn to_json(&self) -> Value {
        let row = |((upstream, model), row): (&(String, String), &ModelRow)| {
            json!({
                "upstream": upstream, "model": model, "calls": row.calls,
                "tokens": { "input": row.input, "output": row.output },
                "cost_usd": round_dollars(row.cost), "cost_not_known": row.unknown,
            })
        };
        let sum = self.total_row();
        json!({
            "calls": sum.calls,
            "oldest": self.oldest,
            "cost_usd": round_dollars(sum.cost),
            "cost_not_known": sum.unknown,
            "models": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}
