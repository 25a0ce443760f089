//! Apache Parquet with one row per call, for pandas, polars, DuckDB, Spark and others.
//!
//! Rows are buffered by column and written one row group at a time, so memory depends only on the size of a row group. Times and request
//! numbers are delta-encoded, other numbers and strings dictionary-encoded. The format is written here: its Rust library would be a tenth of
//! the time to build Sintonia, and one flat table with a list needs little of it.

mod encoding;
mod file;
mod thrift;

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;

use crate::call_columns::{CellValue, ColumnType, REQUEST_COLUMNS, REQUESTS_COLUMN, columns};
use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::host_metadata::host_metadata;
use crate::{Error, ExportSummary, single_file};
use encoding::{bit_width, put_deltas, put_flags, put_hybrid};
use file::{ChunkStatistics, DataPage, Encoding, ParquetFile, PhysicalType, SchemaElement};

/// Size of a row group, counting rows and the requests in their lists.
const ROW_GROUP_SIZE: usize = 1 << 17;
/// Key of the metadata with hosts and binding.
const HOSTS_KEY: &str = "sintonia.hosts";

/// Writes every call of a recording as a row; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    single_file::write(path, |out| {
        let mut table = ParquetWriter::new(out).with_path(path)?;
        for rank in &recording.header.ranks {
            exported_calls::for_each_call(recording, rank.rank, |row| table.add_row(row).with_path(path))?;
            progress();
        }
        table.finish(host_metadata(&recording.header)).with_path(path)
    })
}

/// The file with the buffered rows of the next row group.
struct ParquetWriter<W: Write> {
    file: ParquetFile<W>,
    rows: usize,
    /// Requests in the lists of these rows.
    requests: usize,
    columns: Vec<ColumnBuffer>,
    request_columns: Vec<ColumnBuffer>,
    strings: StringInterner,
}

impl<W: Write> ParquetWriter<W> {
    fn new(out: W) -> io::Result<ParquetWriter<W>> {
        let columns = columns().map(|column| ColumnBuffer::new(vec![column.name], column.column_type)).collect();
        let of_request = |name| vec![REQUESTS_COLUMN, "list", "element", name];
        let request_columns = REQUEST_COLUMNS.iter().map(|column| ColumnBuffer::new(of_request(column.name), column.column_type)).collect();
        Ok(ParquetWriter {
            file: ParquetFile::new(out)?,
            rows: 0,
            requests: 0,
            columns,
            request_columns,
            strings: StringInterner::default(),
        })
    }

    fn add_row(&mut self, row: &ExportedCall) -> io::Result<()> {
        for (values, column) in self.columns.iter_mut().zip(columns()) {
            values.push((column.cell)(row), NestingLevel::Row, &mut self.strings);
        }
        for (values, column) in self.request_columns.iter_mut().zip(REQUEST_COLUMNS) {
            for (index, request) in row.listed_requests.iter().enumerate() {
                let level = if index == 0 { NestingLevel::FirstElement } else { NestingLevel::NextElement };
                values.push((column.cell)(request), level, &mut self.strings);
            }
            if row.listed_requests.is_empty() {
                values.push_empty_list();
            }
        }
        self.rows += 1;
        self.requests += row.listed_requests.len();
        if self.rows + self.requests >= ROW_GROUP_SIZE { self.write_row_group() } else { Ok(()) }
    }

    fn write_row_group(&mut self) -> io::Result<()> {
        for values in self.columns.iter_mut().chain(&mut self.request_columns) {
            let (dictionary, page) = values.pages(&self.strings);
            self.file.write_column(&values.path, values.physical_type(), dictionary.as_ref(), &page, &values.statistics())?;
            values.clear();
        }
        self.file.end_row_group(self.rows);
        (self.rows, self.requests) = (0, 0);
        Ok(())
    }

    fn finish(mut self, hosts: Option<serde_json::Value>) -> io::Result<()> {
        if self.rows > 0 {
            self.write_row_group()?;
        }
        let hosts = hosts.map(|hosts| hosts.to_string());
        self.file.finish(&schema(), hosts.as_deref().map(|hosts| (HOSTS_KEY, hosts)))
    }
}

/// Whether a value belongs to a row or to a list in it.
#[derive(Clone, Copy)]
enum NestingLevel {
    Row,
    FirstElement,
    NextElement,
}

/// The values of a column with Parquet's definition and repetition levels.
struct ColumnBuffer {
    path: Vec<&'static str>,
    values: ColumnValues,
    /// 1 for a present value; in a list, 1 for the list and 2 for a value.
    definition_levels: Vec<u32>,
    /// 1 where a value continues the list of the one before; empty for columns of rows.
    repetition_levels: Vec<u32>,
}

enum ColumnValues {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    IncreasingInt64(Vec<i64>),
    /// Indices into [`StringInterner`].
    Text(Vec<usize>),
    Bool(Vec<bool>),
}

impl ColumnBuffer {
    fn new(path: Vec<&'static str>, kind: ColumnType) -> ColumnBuffer {
        let values = match kind {
            ColumnType::Int32 => ColumnValues::Int32(Vec::new()),
            ColumnType::Int64 => ColumnValues::Int64(Vec::new()),
            ColumnType::IncreasingInt64 => ColumnValues::IncreasingInt64(Vec::new()),
            ColumnType::Text => ColumnValues::Text(Vec::new()),
            ColumnType::Bool => ColumnValues::Bool(Vec::new()),
        };
        ColumnBuffer { path, values, definition_levels: Vec::new(), repetition_levels: Vec::new() }
    }

    fn push(&mut self, cell: CellValue, level: NestingLevel, interner: &mut StringInterner) {
        let present = match (&mut self.values, cell) {
            (ColumnValues::Int32(values), CellValue::Number(number) | CellValue::Special(number, _)) => {
                number.try_into().map(|n| values.push(n)).is_ok()
            }
            (
                ColumnValues::Int64(values) | ColumnValues::IncreasingInt64(values),
                CellValue::Number(number) | CellValue::Special(number, _),
            ) => {
                values.push(number);
                true
            }
            (ColumnValues::Text(values), CellValue::Text(text)) => {
                values.push(interner.intern(text));
                true
            }
            (ColumnValues::Bool(values), CellValue::Bool(mark)) => {
                values.push(mark);
                true
            }
            _ => false,
        };
        let (list, repeated) = match level {
            NestingLevel::Row => (0, None),
            NestingLevel::FirstElement => (1, Some(0)),
            NestingLevel::NextElement => (1, Some(1)),
        };
        self.definition_levels.push(list + u32::from(present));
        self.repetition_levels.extend(repeated);
    }

    fn push_empty_list(&mut self) {
        self.definition_levels.push(0);
        self.repetition_levels.push(0);
    }

    fn clear(&mut self) {
        match &mut self.values {
            ColumnValues::Int32(values) => values.clear(),
            ColumnValues::Int64(values) | ColumnValues::IncreasingInt64(values) => values.clear(),
            ColumnValues::Text(values) => values.clear(),
            ColumnValues::Bool(values) => values.clear(),
        }
        self.definition_levels.clear();
        self.repetition_levels.clear();
    }

    fn physical_type(&self) -> PhysicalType {
        match &self.values {
            ColumnValues::Int32(_) => PhysicalType::Int32,
            ColumnValues::Int64(_) | ColumnValues::IncreasingInt64(_) => PhysicalType::Int64,
            ColumnValues::Text(_) => PhysicalType::ByteArray,
            ColumnValues::Bool(_) => PhysicalType::Boolean,
        }
    }

    fn statistics(&self) -> ChunkStatistics {
        let (present, bounds) = match &self.values {
            ColumnValues::Int32(values) => (values.len(), bounds(values, |value| value.to_le_bytes().to_vec())),
            ColumnValues::Int64(values) | ColumnValues::IncreasingInt64(values) => {
                (values.len(), bounds(values, |value| value.to_le_bytes().to_vec()))
            }
            ColumnValues::Text(values) => (values.len(), None),
            ColumnValues::Bool(values) => (values.len(), None),
        };
        ChunkStatistics { absent: self.definition_levels.len() - present, bounds }
    }

    /// The dictionary, if there is one, and the page of values.
    fn pages(&self, interner: &StringInterner) -> (Option<DataPage>, DataPage) {
        let mut page = DataPage::new(self.definition_levels.len(), Encoding::Plain);
        if !self.repetition_levels.is_empty() {
            page.put_levels(&self.repetition_levels, 1);
        }
        page.put_levels(&self.definition_levels, if self.repetition_levels.is_empty() { 1 } else { 2 });
        let dictionary = match &self.values {
            ColumnValues::Int32(values) => put_indices(&mut page, values, |value, out| out.extend(value.to_le_bytes())),
            ColumnValues::Int64(values) => put_indices(&mut page, values, |value, out| out.extend(value.to_le_bytes())),
            ColumnValues::Text(values) => put_indices(&mut page, values, |index, out| {
                let text = &interner.strings[*index];
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }),
            ColumnValues::IncreasingInt64(values) => {
                page.encoding = Encoding::DeltaBinaryPacked;
                put_deltas(&mut page.bytes, values);
                None
            }
            ColumnValues::Bool(values) => {
                put_flags(&mut page.bytes, values);
                None
            }
        };
        (dictionary, page)
    }
}

/// The least and the greatest value.
fn bounds<T: Copy + Ord>(values: &[T], bytes: impl Fn(T) -> Vec<u8>) -> Option<[Vec<u8>; 2]> {
    Some([bytes(values.iter().copied().min()?), bytes(values.iter().copied().max()?)])
}

/// Writes values as indices into a dictionary of the distinct ones; without values there is no dictionary.
fn put_indices<T: Eq + Hash>(page: &mut DataPage, values: &[T], put: impl Fn(&T, &mut Vec<u8>)) -> Option<DataPage> {
    let mut distinct = HashMap::new();
    let mut dictionary = DataPage::new(0, Encoding::Plain);
    let indices: Vec<u32> = values
        .iter()
        .map(|value| {
            *distinct.entry(value).or_insert_with(|| {
                put(value, &mut dictionary.bytes);
                dictionary.values += 1;
                dictionary.values as u32 - 1
            })
        })
        .collect();
    if dictionary.values == 0 {
        return None;
    }
    page.encoding = Encoding::RleDictionary;
    let width = bit_width(dictionary.values as u64 - 1).max(1);
    page.bytes.push(width as u8);
    put_hybrid(&mut page.bytes, &indices, width);
    Some(dictionary)
}

/// Distinct strings: names of functions, files and libraries.
#[derive(Default)]
struct StringInterner {
    indices: HashMap<String, usize>,
    strings: Vec<String>,
}

impl StringInterner {
    fn intern(&mut self, text: &str) -> usize {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        self.indices.insert(text.to_owned(), self.strings.len());
        self.strings.push(text.to_owned());
        self.strings.len() - 1
    }
}

/// The columns, and the list of requests as a group in a group.
fn schema() -> Vec<SchemaElement> {
    let field = |name, kind| match kind {
        ColumnType::Int32 => SchemaElement::Field(name, PhysicalType::Int32),
        ColumnType::Int64 | ColumnType::IncreasingInt64 => SchemaElement::Field(name, PhysicalType::Int64),
        ColumnType::Text => SchemaElement::Field(name, PhysicalType::ByteArray),
        ColumnType::Bool => SchemaElement::Field(name, PhysicalType::Boolean),
    };
    let mut elements = vec![SchemaElement::Root("calls", columns().count() + 1)];
    elements.extend(columns().map(|column| field(column.name, column.column_type)));
    elements.push(SchemaElement::List(REQUESTS_COLUMN, REQUEST_COLUMNS.len()));
    elements.extend(REQUEST_COLUMNS.iter().map(|column| field(column.name, column.column_type)));
    elements
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{CALLS, example};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, RowAccessor};
    use std::fs::File;

    #[test]
    fn a_call_is_a_row_and_its_requests_are_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.parquet");
        write(&example().recording, &path, &|| {}).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), CALLS);
        let index = |name: &str| columns().position(|column| column.name == name).unwrap();
        let wait = rows.iter().find(|row| row.get_string(index("operation")).unwrap() == "MPI_Waitall").unwrap();
        assert_eq!((wait.get_int(index("rank")).unwrap(), wait.get_long(index("leave_ns")).unwrap()), (1, 400));
        assert_eq!(wait.get_long(index("bytes_received")).unwrap(), 1064);
        assert!(wait.get_int(index("peer")).is_err(), "a wait has no peer");
        let request_columns = wait.get_list(columns().count()).unwrap();
        assert_eq!(request_columns.len(), 3);
        let irecv = rows.iter().find(|row| row.get_string(index("operation")).unwrap() == "MPI_Irecv").unwrap();
        assert_eq!(irecv.get_int(index("peer")).unwrap(), -1, "from any source");
        assert_eq!(irecv.get_list(columns().count()).unwrap().len(), 0);
    }

    /// A cell of a column: absent, one that repeats, a small, or any value.
    fn cell(kind: ColumnType, random: u64) -> CellValue<'static> {
        let number = match random % 5 {
            0 => return CellValue::Absent,
            1 | 2 => 7,
            3 => (random >> 8) as i64 % 1000,
            _ => random.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64,
        };
        match kind {
            ColumnType::Int32 => CellValue::Number((number as i32).into()),
            ColumnType::Int64 | ColumnType::IncreasingInt64 => CellValue::Number(number),
            ColumnType::Text => CellValue::Text(["", "a", "MPI_Send", "µ"][number.unsigned_abs() as usize % 4]),
            ColumnType::Bool => CellValue::Bool(number % 2 == 0),
        }
    }

    #[test]
    fn any_values_survive_in_several_row_groups() {
        use ColumnType::{Bool, IncreasingInt64, Int32, Int64, Text};
        let kinds = [("a", Int32), ("b", Int64), ("c", IncreasingInt64), ("d", Text), ("e", Bool), ("without values", Text)];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.parquet");
        let mut file = ParquetFile::new(File::create(&path).unwrap()).unwrap();
        let (mut strings, mut state, mut expected) = (StringInterner::default(), 1u64, Vec::new());
        for rows in [1, 8, 129, 5000] {
            let mut buffers = kinds.map(|(name, kind)| ColumnBuffer::new(vec![name], kind));
            for row in 0..rows {
                // The same again for a while, so that there are runs.
                if row % 16 > 11 || row % 700 < 50 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                }
                let cells: Vec<CellValue> = kinds
                    .into_iter()
                    .enumerate()
                    .map(|(index, (name, kind))| match name {
                        "without values" => CellValue::Absent,
                        _ => cell(kind, (state >> 20) + index as u64),
                    })
                    .collect();
                buffers.iter_mut().zip(&cells).for_each(|(buffer, cell)| buffer.push(*cell, NestingLevel::Row, &mut strings));
                expected.push(cells);
            }
            for buffer in &buffers {
                let (dictionary, page) = buffer.pages(&strings);
                file.write_column(&buffer.path, buffer.physical_type(), dictionary.as_ref(), &page, &buffer.statistics()).unwrap();
            }
            file.end_row_group(rows);
        }
        let fields = kinds.map(|(name, kind)| SchemaElement::Field(name, ColumnBuffer::new(vec![name], kind).physical_type()));
        let schema: Vec<SchemaElement> = [SchemaElement::Root("any", kinds.len())].into_iter().chain(fields).collect();
        file.finish(&schema, None).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 4);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), expected.len());
        for (row, cells) in rows.iter().zip(&expected) {
            for ((_, field), cell) in row.get_column_iter().zip(cells) {
                let same = match (field, cell) {
                    (Field::Null, CellValue::Absent) => true,
                    (Field::Int(found), CellValue::Number(number)) => i64::from(*found) == *number,
                    (Field::Long(found), CellValue::Number(number)) => found == number,
                    (Field::Str(found), CellValue::Text(text)) => found == text,
                    (Field::Bool(found), CellValue::Bool(flag)) => found == flag,
                    _ => false,
                };
                assert!(same, "{field:?} instead of {cell:?}");
            }
        }
    }
}
