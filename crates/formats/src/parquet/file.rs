//! The frame of a Parquet file: compressed pages, and at the end the schema and where everything is.

use std::io::{self, Write};

use super::encoding::put_hybrid;
use super::thrift::ThriftStruct;

const MAGIC: &[u8] = b"PAR1";
const CREATED_BY: &str = concat!("sintonia ", env!("CARGO_PKG_VERSION"));

/// Version of the format: that of the first data pages.
const VERSION: i32 = 1;
/// The codec of all pages.
const SNAPPY: i32 = 1;
/// Kinds of pages.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
/// Whether a field is there once, at most once, or any number of times.
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;
/// Older annotations of what a field means.
const CONVERTED_UTF8: i32 = 0;
const CONVERTED_LIST: i32 = 3;
/// Numbers of annotations in the union that replaces them.
const LOGICAL_STRING: u8 = 1;
const LOGICAL_LIST: u8 = 3;

/// How values are stored.
#[derive(Clone, Copy)]
pub(super) enum PhysicalType {
    Boolean = 0,
    Int32 = 1,
    Int64 = 2,
    ByteArray = 6,
}

/// The encoding of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain = 0,
    Rle = 3,
    DeltaBinaryPacked = 5,
    RleDictionary = 8,
}

/// A page that is being filled.
pub(super) struct DataPage {
    /// Number of values, absent ones included.
    pub values: usize,
    pub encoding: Encoding,
    pub bytes: Vec<u8>,
}

impl DataPage {
    pub(super) fn new(values: usize, encoding: Encoding) -> DataPage {
        DataPage { values, encoding, bytes: Vec::new() }
    }

    /// Appends levels up to `largest`.
    pub(super) fn put_levels(&mut self, levels: &[u32], largest: u64) {
        let begin = self.bytes.len();
        self.bytes.extend([0; 4]);
        put_hybrid(&mut self.bytes, levels, super::bit_width(largest));
        let length = (self.bytes.len() - begin - 4) as u32;
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// What readers need to skip a row group: how many values are absent, and the least and the greatest of numbers.
pub(super) struct ChunkStatistics {
    pub absent: usize,
    pub bounds: Option<[Vec<u8>; 2]>,
}

/// A part of the schema; fields follow the group they belong to.
pub(super) enum SchemaElement {
    /// The whole table, with its number of columns.
    Root(&'static str, usize),
    /// A column.
    Field(&'static str, PhysicalType),
    /// A column that is a list of groups, with the number of their fields.
    List(&'static str, usize),
}

impl SchemaElement {
    fn headers(&self) -> Vec<ThriftStruct> {
        let group = |repetition, name: &str, children: usize| {
            ThriftStruct::default().i32(3, repetition).binary(4, name.as_bytes()).i32(5, children as i32)
        };
        let means = |logical| ThriftStruct::default().nested(logical, ThriftStruct::default());
        match self {
            SchemaElement::Root(name, children) => vec![ThriftStruct::default().binary(4, name.as_bytes()).i32(5, *children as i32)],
            SchemaElement::Field(name, kind) => {
                let field = ThriftStruct::default().i32(1, *kind as i32).i32(3, OPTIONAL).binary(4, name.as_bytes());
                let is_text = matches!(kind, PhysicalType::ByteArray);
                vec![if is_text { field.i32(6, CONVERTED_UTF8).nested(10, means(LOGICAL_STRING)) } else { field }]
            }
            SchemaElement::List(name, fields) => vec![
                group(REQUIRED, name, 1).i32(6, CONVERTED_LIST).nested(10, means(LOGICAL_LIST)),
                group(REPEATED, "list", 1),
                group(REQUIRED, "element", *fields),
            ],
        }
    }
}

/// The file, written from front to back.
pub(super) struct ParquetFile<W: Write> {
    out: W,
    /// Bytes written.
    at: usize,
    /// Column chunks of the current row group, and their size without compression.
    chunks: Vec<ThriftStruct>,
    chunk_bytes: usize,
    row_groups: Vec<ThriftStruct>,
    rows: usize,
}

impl<W: Write> ParquetFile<W> {
    pub(super) fn new(out: W) -> io::Result<ParquetFile<W>> {
        let mut file = ParquetFile { out, at: 0, chunks: Vec::new(), chunk_bytes: 0, row_groups: Vec::new(), rows: 0 };
        file.put(MAGIC)?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len();
        self.out.write_all(bytes)
    }

    /// Writes a page; returns the size it would have without compression.
    fn write_page(&mut self, kind: i32, page: &DataPage) -> io::Result<usize> {
        let compressed = snap::raw::Encoder::new().compress_vec(&page.bytes).map_err(io::Error::other)?;
        let header = ThriftStruct::default().i32(1, kind).i32(2, page.bytes.len() as i32).i32(3, compressed.len() as i32);
        let details = ThriftStruct::default().i32(1, page.values as i32).i32(2, page.encoding as i32);
        let header = match kind {
            DICTIONARY_PAGE => header.nested(7, details),
            _ => header.nested(5, details.i32(3, Encoding::Rle as i32).i32(4, Encoding::Rle as i32)),
        };
        let header = header.finish();
        self.put(&header)?;
        self.put(&compressed)?;
        Ok(header.len() + page.bytes.len())
    }

    /// Writes the next column of the row group.
    pub(super) fn write_column(
        &mut self,
        path: &[&str],
        kind: PhysicalType,
        dictionary: Option<&DataPage>,
        page: &DataPage,
        statistics: &ChunkStatistics,
    ) -> io::Result<()> {
        let begin = self.at;
        let dictionary_bytes = dictionary.map_or(Ok(0), |dictionary| self.write_page(DICTIONARY_PAGE, dictionary))?;
        let page_begin = self.at;
        let bytes = dictionary_bytes + self.write_page(DATA_PAGE, page)?;
        let mut encodings = vec![Encoding::Rle as i32, page.encoding as i32];
        encodings.extend(dictionary.map(|_| Encoding::Plain as i32));
        let column = ThriftStruct::default()
            .i32(1, kind as i32)
            .i32_list(2, &encodings)
            .text_list(3, path)
            .i32(4, SNAPPY)
            .i64(5, page.values)
            .i64(6, bytes)
            .i64(7, self.at - begin)
            .i64(9, page_begin);
        let column = if dictionary.is_some() { column.i64(11, begin) } else { column };
        let known = ThriftStruct::default().i64(3, statistics.absent);
        let known = match &statistics.bounds {
            Some([least, greatest]) => known.binary(5, greatest).binary(6, least),
            None => known,
        };
        self.chunks.push(ThriftStruct::default().i64(2, begin).nested(3, column.nested(12, known)));
        self.chunk_bytes += bytes;
        Ok(())
    }

    pub(super) fn end_row_group(&mut self, rows: usize) {
        let group = ThriftStruct::default().struct_list(1, std::mem::take(&mut self.chunks)).i64(2, self.chunk_bytes).i64(3, rows);
        self.row_groups.push(group);
        self.chunk_bytes = 0;
        self.rows += rows;
    }

    /// Writes what readers read first.
    pub(super) fn finish(mut self, schema: &[SchemaElement], metadata: Option<(&str, &str)>) -> io::Result<()> {
        let columns = schema.iter().filter(|element| matches!(element, SchemaElement::Field(..))).count();
        // Bounds are in the order of the column's type.
        let orders = (0..columns).map(|_| ThriftStruct::default().nested(1, ThriftStruct::default()));
        let footer = ThriftStruct::default()
            .i32(1, VERSION)
            .struct_list(2, schema.iter().flat_map(SchemaElement::headers).collect())
            .i64(3, self.rows)
            .struct_list(4, std::mem::take(&mut self.row_groups));
        let key_value = |(key, value): (&str, &str)| ThriftStruct::default().binary(1, key.as_bytes()).binary(2, value.as_bytes());
        let footer = match metadata {
            Some(metadata) => footer.struct_list(5, vec![key_value(metadata)]),
            None => footer,
        };
        let footer = footer.binary(6, CREATED_BY.as_bytes()).struct_list(7, orders.collect()).finish();
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)
    }
}
