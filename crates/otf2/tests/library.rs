//! Archives that the OTF2 library wrote (`data/otf2-library/write_archives.c`): what is read is what that program says, and what is written
//! has the bytes that the library writes.

use std::fs;
use std::path::{Path, PathBuf};

use sintonia_otf2::code::{
    Base, InterruptGeneratorMode, MetricMode, MetricOccurrence, MetricScope, MetricType, Paradigm, RecorderKind, ValueType,
};
use sintonia_otf2::reference::{
    CallingContextRef, CommRef, InterruptGeneratorRef, LocationRef, MetricMemberRef, MetricRef, SourceCodeLocationRef,
};
use sintonia_otf2::{ArchiveReader, ArchiveWriter, Definition, Definitions, Event, Value};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/otf2-library").join(name)
}

fn read(name: &str) -> (ArchiveReader, Definitions) {
    let archive = ArchiveReader::open(path(name)).unwrap();
    let definitions = Definitions::read(&archive).unwrap();
    (archive, definitions)
}

fn events(archive: &ArchiveReader, location: u64) -> Vec<(u64, Event)> {
    archive.events(LocationRef(location)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn metrics_are_defined() {
    let (_, definitions) = read("regions.otf2");
    let members = definitions.iter().filter_map(|definition| match definition {
        Definition::MetricMember { reference, name, metric_type, metric_mode, value_type, base, exponent, unit, .. } => {
            let texts = (definitions.string(*name).unwrap(), definitions.string(*unit).unwrap());
            Some((*reference, texts, (*metric_type, *metric_mode, *value_type), (*base, *exponent)))
        }
        _ => None,
    });
    let accumulated = MetricMode::ACCUMULATED_START;
    let expected = [
        (MetricMemberRef(0), ("PAPI_TOT_INS", "#"), (MetricType::PAPI, accumulated, ValueType::UINT64), (Base::DECIMAL, 0)),
        (MetricMemberRef(1), ("a signed one", "#"), (MetricType::USER, accumulated, ValueType::INT64), (Base::DECIMAL, 0)),
        (MetricMemberRef(2), ("power", "W"), (MetricType::OTHER, MetricMode::ABSOLUTE_POINT, ValueType::DOUBLE), (Base::DECIMAL, -3)),
    ];
    assert_eq!(members.collect::<Vec<_>>(), expected);
    let has = |definition: Definition| assert!(definitions.iter().any(|other| *other == definition), "{definition:?}");
    let class = |reference, members: &[u32], occurrence, recorder_kind| Definition::MetricClass {
        reference: MetricRef(reference),
        members: members.iter().copied().map(MetricMemberRef).collect(),
        occurrence,
        recorder_kind,
    };
    has(class(0, &[0, 1, 2], MetricOccurrence::SYNCHRONOUS_STRICT, RecorderKind::CPU));
    has(class(1, &[1], MetricOccurrence::ASYNCHRONOUS, RecorderKind::ABSTRACT));
    has(Definition::MetricInstance {
        reference: MetricRef(2),
        metric_class: MetricRef(1),
        recorder: LocationRef(0),
        metric_scope: MetricScope::LOCATION_GROUP,
        scope: 0,
    });
    has(Definition::MetricClassRecorder { metric: MetricRef(0), recorder: LocationRef(0) });
}

#[test]
fn metrics_have_the_values_of_their_types() {
    let (archive, _) = read("regions.otf2");
    for location in [0, 1] {
        let all = events(&archive, location);
        let metrics: Vec<_> = all.iter().filter(|(_, event)| matches!(event, Event::Metric { .. })).collect();
        // Before each enter and leave: 9 calls in 9 functions, 7 more functions.
        assert_eq!(metrics.len(), 2 * (9 + 9 + 3 + 3 + 3 + 1));
        for (number, (_, metric)) in (1_i64..).zip(metrics) {
            let values =
                vec![Value::Uint64(1000 * number as u64), Value::Int64(-1000 * number), Value::Double(1000.0 * number as f64 / 8.0)];
            assert_eq!(*metric, Event::Metric { metric: MetricRef(0), values });
        }
    }
}

#[test]
fn threads_have_their_events() {
    let (archive, _) = read("regions.otf2");
    let (model, thread_team) = (Paradigm::OPENMP, CommRef(1));
    let worker: Vec<Event> = events(&archive, 2).into_iter().map(|(_, event)| event).collect();
    for (order, events) in (1..).zip(worker.chunks(7)) {
        assert_eq!(events[0], Event::ThreadTeamBegin { thread_team });
        assert_eq!(events[2], Event::ThreadAcquireLock { model, lock: 7, acquisition_order: order });
        assert_eq!(events[3], Event::ThreadReleaseLock { model, lock: 7, acquisition_order: order });
        assert_eq!(events[4], Event::ThreadTaskCreate { thread_team, creating_thread: 0, generation_number: order });
        assert_eq!(events[6], Event::ThreadTeamEnd { thread_team });
    }
    let master = events(&archive, 0);
    let count = |wanted: Event| master.iter().filter(|(_, event)| *event == wanted).count();
    assert_eq!((count(Event::ThreadFork { model, requested_threads: 2 }), count(Event::ThreadJoin { model })), (3, 3));
}

#[test]
fn samples_have_a_calling_context() {
    let (archive, definitions) = read("unwinding.otf2");
    let contexts = definitions.iter().filter_map(|definition| match definition {
        Definition::CallingContext { region, source_code_location, parent, .. } => {
            Some((definitions.region_name(*region).unwrap(), *source_code_location, *parent))
        }
        _ => None,
    });
    let contexts: Vec<_> = contexts.collect();
    assert_eq!(contexts.len(), 11);
    assert_eq!(contexts[7], ("MPI_Barrier", SourceCodeLocationRef::UNDEFINED, CallingContextRef(6)));
    assert_eq!(contexts[8], ("compute", SourceCodeLocationRef(6), CallingContextRef(5)));
    let generator = definitions.iter().find_map(|definition| match definition {
        Definition::InterruptGenerator { mode, base, exponent, period, .. } => Some((*mode, *base, *exponent, *period)),
        _ => None,
    });
    assert_eq!(generator, Some((InterruptGeneratorMode::TIME, Base::DECIMAL, -9, 100)));
    let samples = |location: u64, context: u32, unwind_distance: u32| {
        let sample = Event::CallingContextSample {
            calling_context: CallingContextRef(context),
            unwind_distance,
            interrupt_generator: InterruptGeneratorRef(0),
        };
        events(&archive, location).iter().filter(|(_, event)| *event == sample).count()
    };
    assert_eq!([samples(0, 8, 4), samples(1, 8, 4), samples(0, 9, 2), samples(0, 10, 2)], [15, 18, 6, 6]);
}

/// The event files of both archives, read and written again.
#[test]
fn what_is_written_has_the_bytes_of_the_library() {
    for name in ["regions", "unwinding"] {
        let (archive, definitions) = read(&format!("{name}.otf2"));
        let folder = tempfile::tempdir().unwrap();
        let mut copy = ArchiveWriter::create(folder.path().join(format!("{name}.otf2"))).unwrap();
        for location in definitions.locations() {
            let mut writer = copy.events(location).unwrap();
            for (time, event) in events(&archive, location.0) {
                writer.write(time, &event).unwrap();
            }
            writer.finish().unwrap();
            let file = format!("{name}/{}.evt", location.0);
            assert_eq!(fs::read(folder.path().join(&file)).unwrap(), fs::read(path(&file)).unwrap(), "{file}");
        }
        definitions.iter().for_each(|definition| copy.define(definition));
        copy.finish().unwrap();
        // The header of a file has the size of its chunks, which may differ; what follows is the definitions.
        let content = |path: PathBuf| fs::read(path).unwrap().split_off(18);
        assert_eq!(content(folder.path().join(format!("{name}.def"))), content(path(&format!("{name}.def"))), "{name}.def");
    }
}
