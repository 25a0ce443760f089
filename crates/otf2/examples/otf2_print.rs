//! Prints the definitions and events of an archive, like `otf2-print`.
//!
//!     cargo run -p sintonia-otf2 --example otf2_print -- traces.otf2

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use sintonia_otf2::{ArchiveReader, Definitions, Event, LocatedEvent, MergedEvents};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: otf2_print NAME.otf2");
        return ExitCode::from(2);
    };
    match print(Path::new(&path), &mut BufWriter::new(io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(path: &Path, out: &mut impl Write) -> Result<(), Failure> {
    let archive = ArchiveReader::open(path)?;
    let anchor = archive.anchor();
    writeln!(out, "creator: {}\nmachine: {}\nlocations: {}\n", anchor.creator, anchor.machine_name, anchor.location_count)?;
    let definitions = Definitions::read(&archive)?;
    for definition in definitions.iter() {
        writeln!(out, "{definition:?}")?;
    }
    writeln!(out)?;
    let mut events = MergedEvents::open(&archive, definitions.locations())?;
    while let Some(event) = events.next().transpose()? {
        let LocatedEvent { location, time, event } = event;
        write!(out, "{:>10} {time:>20} {event:?}", location.0)?;
        if let Event::Enter { region } | Event::Leave { region } = event {
            write!(out, " {:?}", definitions.region_name(region).unwrap_or_default())?;
        }
        for (attribute, value) in events.attributes().into_iter().flat_map(|attributes| attributes.iter()) {
            write!(out, " {attribute:?}={value:?}")?;
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(())
}
