//! Apache Parquet with one row per call, for pandas, polars, DuckDB, Spark and others.
//!
//! Rows are buffered by column and written one row group at a time, so memory depends only on the size of a row group. Strings are
//! dictionary-encoded; times and request numbers are delta-encoded.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};
use sintonia_recording::Recording;

use crate::call_columns::{CellValue, ColumnType, REQUEST_COLUMNS, REQUESTS_COLUMN, columns};
use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::{Error, ExportSummary, single_file};

/// Size of a row group, counting rows and the requests in their lists.
const ROW_GROUP_SIZE: usize = 1 << 17;

/// Writes every call of a recording as a row; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    single_file::write(path, |out| {
        let mut table = ParquetWriter::new(out).with_path(path)?;
        for rank in &recording.header.ranks {
            exported_calls::for_each_call(recording, rank.rank, |row| table.add_row(row).with_path(path))?;
            progress();
        }
        table.finish().with_path(path)
    })
}

/// The file writer with the buffered rows of the next row group.
struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// Rows and listed requests in the buffer.
    buffered: usize,
    columns: Vec<ColumnBuffer>,
    request_columns: Vec<ColumnBuffer>,
    strings: StringInterner,
}

impl<W: Write + Send> ParquetWriter<W> {
    fn new(out: W) -> io::Result<ParquetWriter<W>> {
        let writer = SerializedFileWriter::new(out, schema().map_err(io_error)?, Arc::new(writer_properties())).map_err(io_error)?;
        let (columns, request_columns) = (
            columns().map(|c| ColumnBuffer::new(c.column_type)).collect(),
            REQUEST_COLUMNS.iter().map(|c| ColumnBuffer::new(c.column_type)).collect(),
        );
        Ok(ParquetWriter { writer, buffered: 0, columns, request_columns, strings: StringInterner::default() })
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
        self.buffered += 1 + row.listed_requests.len();
        if self.buffered >= ROW_GROUP_SIZE { self.write_row_group() } else { Ok(()) }
    }

    fn write_row_group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for values in self.columns.iter_mut().chain(&mut self.request_columns) {
            write_column(&mut group, values, &self.strings).map_err(io_error)?;
            values.clear();
        }
        group.close().map_err(io_error)?;
        self.buffered = 0;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.buffered > 0 {
            self.write_row_group()?;
        }
        self.writer.close().map(|_| ()).map_err(io_error)
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
    values: ColumnValues,
    /// 1 for a present value; in a list, 1 for the list and 2 for a value.
    definition_levels: Vec<i16>,
    /// 1 where a value continues the list of the one before; empty for columns of rows.
    repetition_levels: Vec<i16>,
}

enum ColumnValues {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// Indices into [`StringInterner`].
    Text(Vec<usize>),
    Bool(Vec<bool>),
}

impl ColumnBuffer {
    fn new(kind: ColumnType) -> ColumnBuffer {
        let values = match kind {
            ColumnType::Int32 => ColumnValues::Int32(Vec::new()),
            ColumnType::Int64 | ColumnType::IncreasingInt64 => ColumnValues::Int64(Vec::new()),
            ColumnType::Text => ColumnValues::Text(Vec::new()),
            ColumnType::Bool => ColumnValues::Bool(Vec::new()),
        };
        ColumnBuffer { values, definition_levels: Vec::new(), repetition_levels: Vec::new() }
    }

    fn push(&mut self, cell: CellValue, level: NestingLevel, interner: &mut StringInterner) {
        let present = match (&mut self.values, cell) {
            (ColumnValues::Int32(values), CellValue::Number(number) | CellValue::Special(number, _)) => {
                number.try_into().map(|n| values.push(n)).is_ok()
            }
            (ColumnValues::Int64(values), CellValue::Number(number) | CellValue::Special(number, _)) => {
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
        self.definition_levels.push(list + i16::from(present));
        self.repetition_levels.extend(repeated);
    }

    fn push_empty_list(&mut self) {
        self.definition_levels.push(0);
        self.repetition_levels.push(0);
    }

    fn clear(&mut self) {
        match &mut self.values {
            ColumnValues::Int32(values) => values.clear(),
            ColumnValues::Int64(values) => values.clear(),
            ColumnValues::Text(values) => values.clear(),
            ColumnValues::Bool(values) => values.clear(),
        }
        self.definition_levels.clear();
        self.repetition_levels.clear();
    }
}

/// Distinct strings: names of functions, files and libraries.
#[derive(Default)]
struct StringInterner {
    indices: HashMap<String, usize>,
    strings: Vec<ByteArray>,
}

impl StringInterner {
    fn intern(&mut self, text: &str) -> usize {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        self.indices.insert(text.to_owned(), self.strings.len());
        self.strings.push(ByteArray::from(text));
        self.strings.len() - 1
    }
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<W>,
    column: &ColumnBuffer,
    interner: &StringInterner,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    match &column.values {
        ColumnValues::Int32(values) => write_values::<Int32Type>(&mut writer, column, values)?,
        ColumnValues::Int64(values) => write_values::<Int64Type>(&mut writer, column, values)?,
        ColumnValues::Bool(values) => write_values::<BoolType>(&mut writer, column, values)?,
        ColumnValues::Text(values) => {
            let values: Vec<ByteArray> = values.iter().map(|index| interner.strings[*index].clone()).collect();
            write_values::<ByteArrayType>(&mut writer, column, &values)?;
        }
    }
    writer.close()
}

fn write_values<T: DataType>(writer: &mut SerializedColumnWriter, column: &ColumnBuffer, values: &[T::T]) -> Result<(), ParquetError> {
    let repeated = (!column.repetition_levels.is_empty()).then_some(column.repetition_levels.as_slice());
    writer.typed::<T>().write_batch(values, Some(&column.definition_levels), repeated).map(|_| ())
}

fn schema() -> Result<TypePtr, ParquetError> {
    let mut fields = columns().map(|column| field_type(column.name, column.column_type)).collect::<Result<Vec<_>, _>>()?;
    let parts = REQUEST_COLUMNS.iter().map(|column| field_type(column.name, column.column_type)).collect::<Result<Vec<_>, _>>()?;
    let element = group_type("element", Repetition::REQUIRED).with_fields(parts).build()?;
    let list = group_type("list", Repetition::REPEATED).with_fields(vec![Arc::new(element)]).build()?;
    let request_columns = group_type(REQUESTS_COLUMN, Repetition::REQUIRED).with_fields(vec![Arc::new(list)]);
    fields.push(Arc::new(request_columns.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST).build()?));
    Ok(Arc::new(Type::group_type_builder("calls").with_fields(fields).build()?))
}

fn group_type(name: &str, repetition: Repetition) -> ::parquet::schema::types::GroupTypeBuilder<'_> {
    Type::group_type_builder(name).with_repetition(repetition)
}

fn field_type(name: &str, kind: ColumnType) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        ColumnType::Int32 => (Physical::INT32, None),
        ColumnType::Int64 | ColumnType::IncreasingInt64 => (Physical::INT64, None),
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Bool => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
    field.build().map(Arc::new)
}

fn writer_properties() -> WriterProperties {
    let own = columns().map(|column| (ColumnPath::from(column.name), column.column_type));
    let of_requests = REQUEST_COLUMNS
        .iter()
        .map(|column| (ColumnPath::from([REQUESTS_COLUMN, "list", "element", column.name].map(String::from).to_vec()), column.column_type));
    let growing = own.chain(of_requests).filter(|(_, kind)| *kind == ColumnType::IncreasingInt64).map(|(path, _)| path);
    let general = WriterProperties::builder()
        .set_created_by(concat!("sintonia ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::SNAPPY);
    let differences = |builder: ::parquet::file::properties::WriterPropertiesBuilder, path: ColumnPath| {
        builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    };
    growing.fold(general, differences).build()
}

fn io_error(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{CALLS, example};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
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
}
