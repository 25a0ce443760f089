//! Reads and writes Paraver traces of BSC's tools.
//!
//! A trace consists of three text files: `NAME.prv` with a header and the records in the order of time ([`TraceReader`], [`TraceWriter`],
//! [`Record`]), plain or compressed with gzip; `NAME.pcf` with the labels of states, event types and values ([`TraceLabelFile`]); and
//! `NAME.row` with the names of resources ([`ResourceNames`]). Both directions stream.
//!
//! ```
//! use sintonia_paraver::{Record, TaskDefinition, TraceHeader, TraceObject, TraceReader, TraceWriter};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("trace.prv");
//! let header = TraceHeader {
//!     started_s: 0.0,
//!     duration: 20,
//!     unit_ns: 1,
//!     node_cpus: vec![1],
//!     applications: vec![vec![TaskDefinition { threads: 1, node: 1 }]],
//!     communicators: 0,
//! };
//!
//! // A thread that runs from 0 to 20, with an event at 10.
//! let object = TraceObject { cpu: 1, application: 1, task: 1, thread: 1 };
//! let mut trace = TraceWriter::create(&path, &header)?;
//! trace.write(&Record::State { object, begin: 0, end: 20, state: 1 })?;
//! trace.write(&Record::Events { object, time: 10, events: &[(40_000_001, 1)] })?;
//! trace.finish()?;
//!
//! let mut trace = TraceReader::open(&path)?;
//! assert_eq!(trace.header(), &header);
//! let mut times = Vec::new();
//! while let Some((_line, record)) = trace.next_record()? {
//!     if let Record::Events { time, events, .. } = record {
//!         times.push((time, events.to_vec()));
//!     }
//! }
//! assert_eq!(times, [(10, vec![(40_000_001, 1)])]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod header;
mod lines;
mod pcf;
mod reader;
mod record;
mod row;
mod text;
mod writer;

pub use error::Error;
pub use header::{TaskDefinition, TraceHeader};
pub use pcf::{EventTypeBlock, EventTypeLabel, StateLabel, TraceLabelFile};
pub use reader::TraceReader;
pub use record::{CommunicationEnd, IntercommunicatorSide, Record, TraceObject, push_events};
pub use row::ResourceNames;
pub use text::single_line;
pub use writer::TraceWriter;
