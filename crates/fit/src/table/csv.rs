//! Tables with a header: cells separated by comma, semicolon or tab, units in the header.

use super::cells::{CsvCell, UnclosedQuote, find_separator, is_data, split_cells};
use super::decimal::decimal_point;
use super::error::{TableError, TableProblem, TableSource};
use super::unit::{self, MeasurementUnit};
use super::{MeasurementSeries, TableColumns};
use crate::measurements::{DataPoint, Measurements};
use crate::quantity_kind::QuantityKind;
use std::ops::Range;

/// Reads the requested columns.
pub(super) fn read(source: TableSource, columns: &TableColumns) -> Result<MeasurementSeries, TableError> {
    let mut lines = source.lines().filter(|(_, line)| is_data(line));
    let (header_at, header_line) = lines.next().ok_or_else(|| source.error_in_table(TableProblem::Empty))?;
    let separator = find_separator(header_line);
    let header = split_line(&source, header_at.clone(), separator)?;
    let names: Vec<String> = header.iter().map(|cell| unit::split_header(&cell.text).0.to_owned()).collect();
    if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
        return Err(source.error_at(header[twice].span.clone(), TableProblem::DuplicateColumn(names[twice].clone())));
    }
    let find = |name: &String| {
        let missing = || source.error_at(header_at.clone(), TableProblem::NoColumn { name: name.clone(), columns: names.clone() });
        names.iter().position(|n| n == name).ok_or_else(missing)
    };
    let parameters = columns.parameters.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let value = find(&columns.value)?;
    let unit = value_unit(columns, &header[value].text).map_err(|problem| source.error_at(header[value].span.clone(), problem))?;
    let mut points = Vec::new();
    for (at, _) in lines {
        let cells = split_line(&source, at.clone(), separator)?;
        if cells.len() != header.len() {
            return Err(source.error_at(at, TableProblem::CellCount { have: cells.len(), need: header.len() }));
        }
        let number = |column: usize| positive_number(&source, &cells[column], &names[column], separator);
        let at = parameters.iter().map(|p| number(*p)).collect::<Result<Vec<_>, _>>()?;
        points.push(DataPoint { at, values: vec![number(value)? * unit.factor] });
    }
    if points.is_empty() {
        return Err(source.error_in_table(TableProblem::Empty));
    }
    let measurements = Measurements::new(columns.parameters.clone(), points).map_err(|e| source.error_in_table(e.into()))?;
    let series = MeasurementSeries::new(String::new(), columns.value.clone(), Some(unit.name), measurements);
    let kind = |(index, own): (&usize, &QuantityKind)| match unit::split_header(&header[*index].text).1 {
        Some(unit) => QuantityKind::from_unit(&unit.name),
        None => *own,
    };
    let kinds = parameters.iter().zip(&series.parameter_kinds).map(kind).collect();
    Ok(series.with_parameter_kinds(kinds).with_named_kinds(&columns.kinds))
}

/// The unit of the values: that of the header, or the one given. Bytes and counts need none.
fn value_unit(columns: &TableColumns, header: &str) -> Result<MeasurementUnit, TableProblem> {
    let given = columns.unit.as_deref().map(MeasurementUnit::from_name);
    let kind = columns.kinds.iter().rev().find(|(name, _)| *name == columns.value).map(|(_, kind)| *kind);
    // The word `time` says what the values are, not in which unit.
    let own = unit::split_header(header).1.filter(|unit| unit.name != QuantityKind::Time.word());
    match (own, given, kind) {
        (Some(own), Some(given), _) if own != given => {
            let given = columns.unit.clone().unwrap_or_default();
            Err(TableProblem::OtherUnit { column: columns.value.clone(), header: header.trim().to_owned(), given })
        }
        (Some(own), _, _) => Ok(own),
        (None, Some(given), _) => Ok(given),
        (None, None, Some(kind)) if kind.is_exact() => Ok(MeasurementUnit::from_name(kind.word())),
        (None, None, _) => Err(TableProblem::MissingUnit { column: columns.value.clone() }),
    }
}

fn positive_number(source: &TableSource, cell: &CsvCell, what: &str, separator: char) -> Result<f64, TableError> {
    let value = source.parse_number(cell.span.clone(), &decimal_point(&cell.text, separator))?;
    source.check_positive(cell.span.clone(), value, what)?;
    Ok(value)
}

/// The cells of the line at a byte range, with their ranges in the table.
fn split_line(source: &TableSource, line: Range<usize>, separator: char) -> Result<Vec<CsvCell>, TableError> {
    let in_table = |span: Range<usize>| line.start + span.start..line.start + span.end;
    let cells = split_cells(&source.text[line.clone()], separator)
        .map_err(|UnclosedQuote(begin)| source.error_at(line.start + begin..line.end, TableProblem::UnclosedQuote))?;
    Ok(cells.into_iter().map(|cell| CsvCell { span: in_table(cell.span), ..cell }).collect())
}
