//! Apache Parquet: one row per call, for pandas, polars, DuckDB, Spark and everything else that analyses tables.
//!
//! Rows are collected column by column and written a row group at a time, so memory depends on the size of a group only. Texts repeat and
//! are kept once per group; times and request numbers grow and are kept as differences.

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

use crate::columns::{Cell, Kind, OF_REQUESTS, REQUESTS, columns};
use crate::error::At;
use crate::rows::{self, Row};
use crate::{Error, Written, single};

/// Rows of one group, and the requests in their lists: these can be many more.
const GROUP: usize = 1 << 17;

/// Writes every call of a recording as a row; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    rows::check_for_calls(&recording.header)?;
    single::write(path, |out| {
        let mut table = Table::begin(out).at(path)?;
        for rank in &recording.header.ranks {
            rows::each(recording, rank.rank, |row| table.add(row).at(path))?;
            progress();
        }
        table.finish().at(path)
    })
}

/// A file under way, and the rows of its next group.
struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// How much of the next group there is, in the measure of [`GROUP`].
    collected: usize,
    columns: Vec<Values>,
    requests: Vec<Values>,
    texts: Texts,
}

impl<W: Write + Send> Table<W> {
    fn begin(out: W) -> io::Result<Table<W>> {
        let writer = SerializedFileWriter::new(out, schema().map_err(io_error)?, Arc::new(properties())).map_err(io_error)?;
        let (columns, requests) =
            (columns().map(|c| Values::of(c.kind)).collect(), OF_REQUESTS.iter().map(|c| Values::of(c.kind)).collect());
        Ok(Table { writer, collected: 0, columns, requests, texts: Texts::default() })
    }

    fn add(&mut self, row: &Row) -> io::Result<()> {
        for (values, column) in self.columns.iter_mut().zip(columns()) {
            values.push((column.cell)(row), Level::OfRow, &mut self.texts);
        }
        for (values, column) in self.requests.iter_mut().zip(OF_REQUESTS) {
            for (place, request) in row.listed.iter().enumerate() {
                let level = if place == 0 { Level::First } else { Level::Further };
                values.push((column.cell)(request), level, &mut self.texts);
            }
            if row.listed.is_empty() {
                values.push_no_list();
            }
        }
        self.collected += 1 + row.listed.len();
        if self.collected >= GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for values in self.columns.iter_mut().chain(&mut self.requests) {
            write_column(&mut group, values, &self.texts).map_err(io_error)?;
            values.clear();
        }
        group.close().map_err(io_error)?;
        self.collected = 0;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.collected > 0 {
            self.write_group()?;
        }
        self.writer.close().map(|_| ()).map_err(io_error)
    }
}

/// Where a value stands: in a row, or in the list of one.
#[derive(Clone, Copy)]
enum Level {
    OfRow,
    First,
    Further,
}

/// The values of a column, and which rows have one.
struct Values {
    values: Typed,
    /// How much of the way to a value is there: the list if it is in one, and the value itself.
    present: Vec<i16>,
    /// 1 where a value belongs to the same list as the one before; empty for columns of rows.
    repeated: Vec<i16>,
}

enum Typed {
    Number(Vec<i32>),
    Long(Vec<i64>),
    /// Places in [`Texts`].
    Text(Vec<usize>),
    Mark(Vec<bool>),
}

impl Values {
    fn of(kind: Kind) -> Values {
        let values = match kind {
            Kind::Number => Typed::Number(Vec::new()),
            Kind::Long | Kind::Growing => Typed::Long(Vec::new()),
            Kind::Text => Typed::Text(Vec::new()),
            Kind::Mark => Typed::Mark(Vec::new()),
        };
        Values { values, present: Vec::new(), repeated: Vec::new() }
    }

    fn push(&mut self, cell: Cell, level: Level, texts: &mut Texts) {
        let there = match (&mut self.values, cell) {
            (Typed::Number(values), Cell::Number(number) | Cell::Special(number, _)) => number.try_into().map(|n| values.push(n)).is_ok(),
            (Typed::Long(values), Cell::Number(number) | Cell::Special(number, _)) => {
                values.push(number);
                true
            }
            (Typed::Text(values), Cell::Text(text)) => {
                values.push(texts.place(text));
                true
            }
            (Typed::Mark(values), Cell::Mark(mark)) => {
                values.push(mark);
                true
            }
            _ => false,
        };
        let (list, repeated) = match level {
            Level::OfRow => (0, None),
            Level::First => (1, Some(0)),
            Level::Further => (1, Some(1)),
        };
        self.present.push(list + i16::from(there));
        self.repeated.extend(repeated);
    }

    fn push_no_list(&mut self) {
        self.present.push(0);
        self.repeated.push(0);
    }

    fn clear(&mut self) {
        match &mut self.values {
            Typed::Number(values) => values.clear(),
            Typed::Long(values) => values.clear(),
            Typed::Text(values) => values.clear(),
            Typed::Mark(values) => values.clear(),
        }
        self.present.clear();
        self.repeated.clear();
    }
}

/// The texts seen so far: names of functions, files and libraries, few whatever the length of the run.
#[derive(Default)]
struct Texts {
    places: HashMap<String, usize>,
    texts: Vec<ByteArray>,
}

impl Texts {
    fn place(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        self.places.insert(text.to_owned(), self.texts.len());
        self.texts.push(ByteArray::from(text));
        self.texts.len() - 1
    }
}

fn write_column<W: Write + Send>(group: &mut SerializedRowGroupWriter<W>, column: &Values, texts: &Texts) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    match &column.values {
        Typed::Number(values) => write_values::<Int32Type>(&mut writer, column, values)?,
        Typed::Long(values) => write_values::<Int64Type>(&mut writer, column, values)?,
        Typed::Mark(values) => write_values::<BoolType>(&mut writer, column, values)?,
        Typed::Text(values) => {
            let values: Vec<ByteArray> = values.iter().map(|place| texts.texts[*place].clone()).collect();
            write_values::<ByteArrayType>(&mut writer, column, &values)?;
        }
    }
    writer.close()
}

fn write_values<T: DataType>(writer: &mut SerializedColumnWriter, column: &Values, values: &[T::T]) -> Result<(), ParquetError> {
    let repeated = (!column.repeated.is_empty()).then_some(column.repeated.as_slice());
    writer.typed::<T>().write_batch(values, Some(&column.present), repeated).map(|_| ())
}

fn schema() -> Result<TypePtr, ParquetError> {
    let mut fields = columns().map(|column| field(column.name, column.kind)).collect::<Result<Vec<_>, _>>()?;
    let parts = OF_REQUESTS.iter().map(|column| field(column.name, column.kind)).collect::<Result<Vec<_>, _>>()?;
    let element = group("element", Repetition::REQUIRED).with_fields(parts).build()?;
    let list = group("list", Repetition::REPEATED).with_fields(vec![Arc::new(element)]).build()?;
    let requests = group(REQUESTS, Repetition::REQUIRED).with_fields(vec![Arc::new(list)]);
    fields.push(Arc::new(requests.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST).build()?));
    Ok(Arc::new(Type::group_type_builder("calls").with_fields(fields).build()?))
}

fn group(name: &str, repetition: Repetition) -> ::parquet::schema::types::GroupTypeBuilder<'_> {
    Type::group_type_builder(name).with_repetition(repetition)
}

fn field(name: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Number => (Physical::INT32, None),
        Kind::Long | Kind::Growing => (Physical::INT64, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Mark => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
    field.build().map(Arc::new)
}

fn properties() -> WriterProperties {
    let own = columns().map(|column| (ColumnPath::from(column.name), column.kind));
    let of_requests = OF_REQUESTS
        .iter()
        .map(|column| (ColumnPath::from([REQUESTS, "list", "element", column.name].map(String::from).to_vec()), column.kind));
    let growing = own.chain(of_requests).filter(|(_, kind)| *kind == Kind::Growing).map(|(path, _)| path);
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
        let place = |name: &str| columns().position(|column| column.name == name).unwrap();
        let wait = rows.iter().find(|row| row.get_string(place("operation")).unwrap() == "MPI_Waitall").unwrap();
        assert_eq!((wait.get_int(place("rank")).unwrap(), wait.get_long(place("leave_ns")).unwrap()), (1, 400));
        assert_eq!(wait.get_long(place("bytes_received")).unwrap(), 1064);
        assert!(wait.get_int(place("peer")).is_err(), "a wait has no peer");
        let requests = wait.get_list(columns().count()).unwrap();
        assert_eq!(requests.len(), 3);
        let irecv = rows.iter().find(|row| row.get_string(place("operation")).unwrap() == "MPI_Irecv").unwrap();
        assert_eq!(irecv.get_int(place("peer")).unwrap(), -1, "from any source");
        assert_eq!(irecv.get_list(columns().count()).unwrap().len(), 0);
    }
}
