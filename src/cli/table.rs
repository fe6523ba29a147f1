//! A table of aligned columns that adapts to a narrow terminal: first long cells are cut, then the
//! least important columns are left out.

use owo_colors::OwoColorize as _;

use super::terminal::{column_count, cut, padding};

/// The blanks between two columns.
const GAP: usize = 2;

/// One column.
#[derive(Debug)]
pub struct TableColumn {
    head: &'static str,
    right: bool,
    /// The width down to which its cells may be cut.
    least: Option<usize>,
    /// The order in which columns are left out: the lowest number goes first. `None` if it must
    /// stay.
    goes: Option<u8>,
}

impl TableColumn {
    /// Creates a column of text.
    pub fn left(head: &'static str) -> Self {
        Self { head, right: false, least: None, goes: None }
    }

    /// Creates a column of numbers.
    pub fn right(head: &'static str) -> Self {
        Self { right: true, ..Self::left(head) }
    }

    /// Allows its cells to be cut to `least` characters.
    pub fn shrinks_to(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }

    /// Allows it to be left out, the lowest `turn` first.
    pub fn with_omission_turn(self, turn: u8) -> Self {
        Self { goes: Some(turn), ..self }
    }
}

/// Columns and their rows.
#[derive(Debug)]
pub struct Table {
    columns: Vec<TableColumn>,
    /// The width that each column needs. 0 for a column that has no content.
    needed: Vec<usize>,
    /// The rows: whether the row is marked, and its cells.
    rows: Vec<(bool, Vec<String>)>,
}

/// The layout of a table's lines.
#[derive(Debug)]
pub struct TableLayout {
    widths: Vec<usize>,
    /// The columns that did not fit.
    gone: Vec<&'static str>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(columns: Vec<TableColumn>) -> Self {
        Self { needed: vec![0; columns.len()], columns, rows: Vec::new() }
    }

    /// Adds a row, a cell for each column.
    pub fn add_row(&mut self, marked: bool, cells: Vec<String>) {
        self.measure_row(&cells);
        self.rows.push((marked, cells));
    }

    /// Measures a row that is written later: see [`Table::layout`].
    pub fn measure_row(&mut self, cells: &[String]) {
        for ((needed, column), cell) in self.needed.iter_mut().zip(&self.columns).zip(cells) {
            if cell != "-" {
                *needed = (*needed).max(column_count(cell)).max(column.head.len());
            }
        }
    }

    /// Formats the table, no wider than `limit` if possible. Columns without content in any row are
    /// left out. Columns that did not fit are named below.
    pub fn to_text(&self, limit: Option<usize>) -> String {
        let layout = self.layout(limit);
        let mut out = self.head_line(&layout);
        for (marked, cells) in &self.rows {
            out.push_str(&self.row_line(&layout, *marked, cells));
        }
        out.push_str(&Self::foot_line(&layout));
        out
    }

    /// Returns the layout for the rows that were added or measured, no wider than `limit` if
    /// possible.
    pub fn layout(&self, limit: Option<usize>) -> TableLayout {
        let mut widths = self.needed.clone();
        let mut gone = Vec::new();
        if let Some(limit) = limit {
            self.shrink_columns(&mut widths, limit);
            gone = self.leave_out(&mut widths, limit);
            if !gone.is_empty() {
                self.widen_columns(&mut widths, limit);
            }
        }
        TableLayout { widths, gone }
    }

    /// Returns the line with the names of the columns.
    pub fn head_line(&self, layout: &TableLayout) -> String {
        let heads = self.columns.iter().map(|column| column.head);
        format!("{}\n", self.format_line(heads, &layout.widths).dimmed())
    }

    /// Returns the line of a row.
    pub fn row_line(&self, layout: &TableLayout, marked: bool, cells: &[String]) -> String {
        let line = self.format_line(cells.iter().map(String::as_str), &layout.widths);
        if marked { format!("{}\n", line.red()) } else { format!("{line}\n") }
    }

    /// Returns the line that names the columns that did not fit. Empty if all fit.
    pub fn foot_line(layout: &TableLayout) -> String {
        if layout.gone.is_empty() {
            return String::new();
        }
        let gone = layout.gone.join(", ");
        let note = format!("no room for {gone}; a wider terminal or --json has it");
        format!("{}\n", note.dimmed())
    }

    /// Narrows the widest of the columns that may be cut, until all fit.
    fn shrink_columns(&self, widths: &mut [usize], limit: usize) {
        while line_width(widths) > limit {
            let spare = |at: usize| self.columns[at].least.filter(|least| widths[at] > *least);
            let widest = (0..widths.len()).filter(|&at| spare(at).is_some());
            let Some(widest) = widest.max_by_key(|&at| widths[at]) else { return };
            widths[widest] -= 1;
        }
    }

    /// Leaves columns out until the rest fits. Returns the names of those that were left out.
    fn leave_out(&self, widths: &mut [usize], limit: usize) -> Vec<&'static str> {
        let mut gone = Vec::new();
        while line_width(widths) > limit {
            let turn = |at: &usize| self.columns[*at].goes.filter(|_| widths[*at] > 0);
            let next = (0..widths.len()).filter(|at| turn(at).is_some()).min_by_key(turn);
            let Some(next) = next else { break };
            widths[next] = 0;
            gone.push(self.columns[next].head);
        }
        gone
    }

    /// Gives the remaining room back to the columns that were cut.
    fn widen_columns(&self, widths: &mut [usize], limit: usize) {
        let full = &self.needed;
        for at in 0..widths.len() {
            if widths[at] > 0 {
                let room = limit.saturating_sub(line_width(widths));
                widths[at] = full[at].min(widths[at] + room);
            }
        }
    }

    /// Formats one line, without trailing blanks.
    fn format_line<'a>(&self, cells: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
        let mut line = String::new();
        for ((column, &width), cell) in self.columns.iter().zip(widths).zip(cells) {
            if width == 0 {
                continue;
            }
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            let cell = cut(cell, width);
            let padding = padding(&cell, width);
            match column.right {
                true => line.push_str(&format!("{padding}{cell}")),
                false => line.push_str(&format!("{cell}{padding}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Returns the width of a line of these columns.
fn line_width(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|width| **width > 0);
    let columns = shown.clone().count();
    shown.sum::<usize>() + GAP * columns.saturating_sub(1)
}
