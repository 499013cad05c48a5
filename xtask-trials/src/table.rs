//! Tables for a terminal.

/// A table: a head, and rows of as many cells. Columns of words begin at the left, numbers end at the right.
pub struct Table {
    /// Whether each column holds words.
    words: Vec<bool>,
    lines: Vec<Vec<String>>,
}

impl Table {
    /// A table with columns of these names; a name that begins with `<` is that of a column of words.
    pub fn new(columns: &[&str]) -> Self {
        let names = columns.iter().map(|name| name.trim_start_matches('<').to_owned()).collect();
        Self { words: columns.iter().map(|name| name.starts_with('<')).collect(), lines: vec![names] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.words.len());
        self.lines.push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// The text, a line a row.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            self.lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.words.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let padded: Vec<String> = cells
                .iter()
                .zip(widths.iter().zip(&self.words))
                .map(
                    |(cell, (width, is_words))| {
                        if *is_words { format!("{cell:width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            format!("{}\n", padded.join("  ").trim_end())
        };
        self.lines.iter().map(line).collect()
    }
}

/// Text of unknown origin, with nothing in it that a terminal obeys.
pub fn clean(text: &str) -> String {
    let is_harmful = |letter: char| letter.is_control() || ('\u{200e}'..='\u{202e}').contains(&letter);
    let shown = |letter: char| {
        if is_harmful(letter) { letter.escape_default().collect() } else { letter.to_string() }
    };
    text.chars().map(shown).collect()
}

/// A number for reading: three decimals, fewer for large numbers, an exponent for very small ones.
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
        let mut table = Table::new(&["<name", "n"]);
        table.row(vec!["a\u{1b}[31m\nb".into(), "1".into()]);
        table.row(vec!["é".into(), "100".into()]);
        assert_eq!(table.text(), "name              n\na\\u{1b}[31m\\nb    1\né               100\n");
    }

    #[test]
    fn numbers_are_short_and_never_lose_their_size() {
        let numbers = [0.0, 0.5, -0.25, 1234.56, 1e12, 1e-7, 0.001].map(|value| number(Some(value)));
        assert_eq!(numbers, ["0.000", "0.500", "-0.250", "1234.6", "1.00e12", "1.00e-7", "0.001"]);
        assert_eq!(number(None), "-");
    }
}
