//! Tables with a header: comma, semicolon or tab between cells, units in the header.

use super::error::{Problem, Source, TableError};
use super::unit::{self, Unit};
use super::{Columns, Series};
use crate::measurements::{Measurements, Point};
use std::ops::Range;

/// A cell: where it is, and its text without quotation marks.
struct Cell {
    at: Range<usize>,
    text: String,
}

/// Reads the columns that are asked for.
pub fn read(source: Source, columns: &Columns) -> Result<Series, TableError> {
    let mut lines = source.lines().filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let (header_at, header_line) = lines.next().ok_or_else(|| source.whole(Problem::Empty))?;
    let separator = [';', '\t', ','].into_iter().find(|s| header_line.contains(*s)).unwrap_or(',');
    let header = cells(&source, header_at.clone(), separator)?;
    let names: Vec<String> = header.iter().map(|cell| unit::split(&cell.text).0.to_owned()).collect();
    if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
        return Err(source.error(header[twice].at.clone(), Problem::SameColumn(names[twice].clone())));
    }
    let find = |name: &String| {
        let missing = || source.error(header_at.clone(), Problem::NoColumn { name: name.clone(), columns: names.clone() });
        names.iter().position(|n| n == name).ok_or_else(missing)
    };
    let parameters = columns.parameters.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let value = find(&columns.value)?;
    let given = columns.unit.as_deref().map(Unit::named);
    let no_unit = || source.error(header[value].at.clone(), Problem::NoUnit { column: columns.value.clone() });
    let unit = given.or_else(|| unit::split(&header[value].text).1).ok_or_else(no_unit)?;
    let mut points = Vec::new();
    for (at, _) in lines {
        let cells = cells(&source, at.clone(), separator)?;
        if cells.len() != header.len() {
            return Err(source.error(at, Problem::Cells { have: cells.len(), need: header.len() }));
        }
        let number = |column: usize| positive(&source, &cells[column], &names[column]);
        let at = parameters.iter().map(|p| number(*p)).collect::<Result<Vec<_>, _>>()?;
        points.push(Point { at, values: vec![number(value)? * unit.factor] });
    }
    if points.is_empty() {
        return Err(source.whole(Problem::Empty));
    }
    let measurements = Measurements::new(columns.parameters.clone(), points).map_err(|e| source.whole(e.into()))?;
    Ok(Series { region: String::new(), metric: columns.value.clone(), unit: Some(unit.name), measurements })
}

fn positive(source: &Source, cell: &Cell, what: &str) -> Result<f64, TableError> {
    let value = source.number(cell.at.clone(), &cell.text)?;
    source.check_positive(cell.at.clone(), value, what)?;
    Ok(value)
}

/// The cells of a line; quotation marks hold separators together, and two of them stand for one.
fn cells(source: &Source, line: Range<usize>, separator: char) -> Result<Vec<Cell>, TableError> {
    let mut cells = Vec::new();
    let (mut begin, mut text, mut quoted) = (line.start, String::new(), false);
    let mut characters = source.text[line.clone()].char_indices().peekable();
    while let Some((offset, c)) = characters.next() {
        match c {
            '"' if quoted && characters.next_if(|(_, next)| *next == '"').is_some() => text.push('"'),
            '"' => quoted = !quoted,
            c if c == separator && !quoted => {
                let end = line.start + offset;
                cells.push(Cell { at: begin..end, text: std::mem::take(&mut text) });
                begin = end + c.len_utf8();
            }
            c => text.push(c),
        }
    }
    if quoted {
        return Err(source.error(begin..line.end, Problem::OpenQuote));
    }
    cells.push(Cell { at: begin..line.end, text });
    Ok(cells)
}
