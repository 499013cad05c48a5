//! Tables of text, for a terminal or for a page.

use crate::text::clean;

/// Where the cells of a column begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left: words.
    Left,
    /// At the right: numbers.
    Right,
}

/// A table: named columns, and rows of as many cells.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Align>,
    lines: Vec<Vec<String>>,
}

impl Table {
    /// A table with columns of these names; a name that begins with `<` is that of a column of words.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(columns.into_iter().map(|name| match name.strip_prefix('<') {
            Some(name) => (name, Align::Left),
            None => (name, Align::Right),
        }))
    }

    /// A table with these columns.
    pub fn of<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let (names, columns): (Vec<_>, Vec<_>) =
            columns.into_iter().map(|(name, align)| (name.to_owned(), align)).unzip();
        Self { columns, lines: vec![names] }
    }

    /// Adds a row. What a terminal would obey is written out.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<_> = cells.into_iter().map(|cell| clean(cell.as_ref())).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        cells.resize(self.columns.len(), String::new());
        self.lines.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.lines.len() == 1
    }

    /// The table for a terminal, a line a row, the names first.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            self.lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let columns = self.columns.iter().zip(&widths);
            let padded: Vec<String> = cells
                .iter()
                .zip(columns)
                .map(|(cell, (align, width))| match align {
                    Align::Left => format!("{cell:width$}"),
                    Align::Right => format!("{cell:>width$}"),
                })
                .collect();
            format!("{}\n", padded.join("  ").trim_end())
        };
        self.lines.iter().map(line).collect()
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let row = |cells: &Vec<String>| {
            let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<_> = self
            .columns
            .iter()
            .map(|align| match align {
                Align::Left => "---",
                Align::Right => "---:",
            })
            .collect();
        let mut lines = self.lines.iter().map(row);
        let head = lines.next().unwrap_or_default();
        format!("{head}|{}|\n{}", rule.join("|"), lines.collect::<String>())
    }
}

/// A number for reading: three decimals, fewer for large numbers, an exponent for very small and very large ones.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value != 0.0 && value.abs() < 0.000_5 || value.abs() >= 1e9 => format!("{value:.2e}"),
        Some(value) if value.abs() >= 1000.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["<name", "n"]);
        assert!(table.is_empty());
        table.row(["a\u{1b}[31m\nb", "1"]);
        table.row(["é", "100"]);
        assert_eq!(table.text(), "name              n\na\\u{1b}[31m\\nb    1\né               100\n");
        assert_eq!(table.markdown(), "| name | n |\n|---|---:|\n| a\\u{1b}[31m\\nb | 1 |\n| é | 100 |\n");
    }

    #[test]
    fn numbers_are_short_and_never_lose_their_size() {
        let numbers = [0.0, 0.5, -0.25, 1234.56, 1e12, 1e-7, 0.001].map(|value| number(Some(value)));
        assert_eq!(numbers, ["0.000", "0.500", "-0.250", "1234.6", "1.00e12", "1.00e-7", "0.001"]);
        assert_eq!(number(None), "-");
    }
}
