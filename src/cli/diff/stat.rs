//! The comparison as a table: a line for each call that changed.

use super::super::table::{Column, Table};
use super::super::terminal;
use super::call::{Call, State};
use super::total::Total;
use crate::comparison::Part;

/// Collects the lines.
pub(super) struct Stat {
    old: String,
    new: String,
    rows: Vec<(bool, Vec<String>)>,
}

impl Stat {
    pub(super) fn new(old: &str, new: &str) -> Self {
        let safe = |label: &str| terminal::line(label).into_owned();
        Self { old: safe(old), new: safe(new), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, call: &Call) {
        let what = match call.state {
            State::Same => return,
            State::Changed => "changed",
            State::OnlyOld => "only in A",
            State::OnlyNew => "only in B",
        };
        let some = |count: usize| if count == 0 { "-".to_owned() } else { count.to_string() };
        let (asked, answered) = (call.count(Part::Request), call.count(Part::Answer));
        let cells = vec![
            terminal::line(&call.keys()).into_owned(),
            terminal::line(call.words()).into_owned(),
            what.to_owned(),
            some(asked),
            some(answered),
        ];
        self.rows.push((call.state == State::OnlyOld, cells));
    }

    pub(super) fn text(&self, total: &Total) -> String {
        let mut out = String::new();
        if !self.rows.is_empty() {
            let mut table = Table::new(vec![
                Column::left("KEY").shrinks_to(15),
                Column::left("CALL").shrinks_to(12),
                Column::left("WHAT"),
                Column::right("REQUEST"),
                Column::right("ANSWER"),
            ]);
            self.rows.iter().for_each(|(marked, cells)| table.add(*marked, cells.clone()));
            out.push_str(&table.text(terminal::width()));
            out.push('\n');
        }
        out.push_str(&format!("{}\n", total.words(&self.old, &self.new)));
        out
    }
}
