//! Whole archives: written, read again, and damaged.

use std::fs;
use std::path::Path;

use sintonia_otf2::code::{LocationType, MappingType, ValueType};
use sintonia_otf2::reference::{AttributeRef, LocationGroupRef, LocationRef, RegionRef, StringRef};
use sintonia_otf2::{
    ArchiveReader, ArchiveWriter, AttributeList, Definition, Definitions, Error, Event, LocalDefinition, MappingTable, MergedEvents, Value,
};

const LOCATIONS: [LocationRef; 2] = [LocationRef(0), LocationRef(1 << 32)];

/// More events than a chunk holds, of two locations that take turns; the second has ids and a clock of its own.
fn write(path: &Path, count: u64) -> Result<(), Error> {
    let mut archive = ArchiveWriter::create(path)?;
    archive.set_creator("a test");
    archive.add_property("TEST::PROPERTY", "true");
    let name = archive.string("number");
    archive.define(&Definition::Attribute {
        reference: AttributeRef(0),
        name,
        value_type: ValueType::UINT64,
        description: StringRef::UNDEFINED,
    });
    for (index, location) in (0..).zip(LOCATIONS) {
        let mut events = archive.events(location)?;
        let mut attributes = AttributeList::new();
        if index == 1 {
            events.define(LocalDefinition::MappingTable { mapping_type: MappingType::REGION, table: MappingTable::Dense(vec![7]) });
            for time in [0, 1000] {
                events.define(LocalDefinition::ClockOffset { time, offset: -5, standard_deviation: 0.5 });
            }
        }
        for number in 0..count {
            attributes.clear();
            attributes.add(AttributeRef(0), Value::Uint64(number));
            events.write_with(10 + 2 * number + 6 * index, &Event::Enter { region: RegionRef(0) }, &attributes)?;
        }
        let name = archive.string("a thread");
        archive.define(&Definition::Location {
            reference: location,
            name,
            location_type: LocationType::CPU_THREAD,
            number_of_events: events.finish()?,
            location_group: LocationGroupRef(0),
        });
    }
    archive.finish()
}

#[test]
fn what_is_written_is_read_again_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.otf2");
    let count = 30_000;
    write(&path, count).unwrap();
    assert!(fs::metadata(folder.path().join("a/0.evt")).unwrap().len() > 1 << 18, "more than a chunk");
    let archive = ArchiveReader::open(&path).unwrap();
    assert_eq!((archive.anchor().creator.as_str(), archive.anchor().location_count), ("a test", 2));
    let definitions = Definitions::read(&archive).unwrap();
    assert_eq!(archive.anchor().definition_count, definitions.iter().count() as u64);
    assert_eq!(definitions.locations().collect::<Vec<_>>(), LOCATIONS);
    let mut events = MergedEvents::open(&archive, definitions.locations()).unwrap();
    for number in 0..count {
        for (index, region) in [(0, 0), (1, 7)] {
            let found = events.next().unwrap().unwrap();
            assert_eq!((found.location, found.time), (LOCATIONS[index as usize], 10 + 2 * number + index));
            assert_eq!(found.event, Event::Enter { region: RegionRef(region) });
            assert_eq!(events.attributes().unwrap().get(AttributeRef(0)), Some(Value::Uint64(number)));
        }
    }
    assert!(events.next().is_none());
    assert_eq!(archive.events(LOCATIONS[1]).unwrap().clock_deviation(), 0.5);
}

#[test]
fn a_damaged_file_is_an_error_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.otf2");
    write(&path, 10).unwrap();
    let file = folder.path().join("a/0.evt");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let events: Vec<_> = ArchiveReader::open(&path).unwrap().events(LOCATIONS[0]).unwrap().collect();
    let (last, before) = events.split_last().unwrap();
    assert!(before.iter().all(Result::is_ok));
    assert!(matches!(last, Err(Error::Malformed { path, .. }) if *path == file));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(ArchiveWriter::create(folder.path().join("a.def")), Err(Error::InvalidName { .. })));
    let mut archive = ArchiveWriter::create(folder.path().join("a.otf2")).unwrap();
    let mut events = archive.events(LOCATIONS[0]).unwrap();
    let arguments = (0..100_000).map(StringRef).collect();
    let long = Event::ProgramBegin { program_name: StringRef(0), arguments };
    assert!(matches!(events.write(0, &long), Err(Error::RecordTooLong { .. })));
    archive.string(&"x".repeat(1 << 24));
    assert!(matches!(archive.finish(), Err(Error::RecordTooLong { .. })));
}
