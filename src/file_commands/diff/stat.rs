//! The comparison as a table: one line for each changed call.

use super::call::{CallState, ComparedCall};
use super::total::DiffTotals;
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal;
use loomrec_curation::comparison::CallHalf;

/// Collects the lines.
pub(super) struct DiffStat {
    old: String,
    new: String,
    rows: Vec<(bool, Vec<String>)>,
}

impl DiffStat {
    pub(super) fn new(old: &str, new: &str) -> Self {
        let safe = |label: &str| terminal::printable_line(label).into_owned();
        Self { old: safe(old), new: safe(new), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, call: &ComparedCall) {
        let what = match call.state {
            CallState::Same => return,
            CallState::Changed => "changed",
            CallState::OnlyOld => "only in A",
            CallState::OnlyNew => "only in B",
        };
        let some = |count: usize| if count == 0 { "-".to_owned() } else { count.to_string() };
        let (asked, answered) = (
            call.count_differences(CallHalf::Request) + call.repeated,
            call.count_differences(CallHalf::Answer),
        );
        let cells = vec![
            terminal::printable_line(&call.key_text()).into_owned(),
            terminal::printable_line(call.call_description()).into_owned(),
            what.to_owned(),
            some(asked),
            some(answered),
        ];
        self.rows.push((call.state == CallState::OnlyOld, cells));
    }

    pub(super) fn to_text(&self, total: &DiffTotals) -> String {
        let mut out = String::new();
        if !self.rows.is_empty() {
            let mut table = Table::new(vec![
                TableColumn::left("KEY").shrinks_to(15),
                TableColumn::left("CALL").shrinks_to(12),
                TableColumn::left("WHAT"),
                TableColumn::right("REQUEST"),
                TableColumn::right("ANSWER"),
            ]);
            self.rows.iter().for_each(|(marked, cells)| table.add_row(*marked, cells.clone()));
            out.push_str(&table.to_text(terminal::width()));
            out.push('\n');
        }
        out.push_str(&format!("{}\n", total.summary_line(&self.old, &self.new)));
        out
    }
}
