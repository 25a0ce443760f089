//! The `.pcf`: names and colours of states, labels of event types and their values.

use std::fmt;
use std::path::Path;

use crate::error::Error;
use crate::lines::TraceLines;
use crate::text::single_line;

/// Paraver's options, for times in nanoseconds.
const DEFAULT_OPTIONS: &str = "DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC
LOOK_BACK           100
SPEED               1
FLAG_ICONS          ENABLED
NUM_OF_STATE_COLORS 1000
YMAX_SCALE          37


DEFAULT_SEMANTIC

THREAD_FUNC          State As Is


";

/// The labels of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceLabelFile {
    /// The states.
    pub states: Vec<StateLabel>,
    /// Event types that have the same values.
    pub event_types: Vec<EventTypeBlock>,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateLabel {
    /// Its number.
    pub state: u64,
    /// Its name.
    pub name: String,
    /// Red, green and blue.
    pub colour: [u8; 3],
}

/// Event types that have the same values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTypeBlock {
    /// The types.
    pub types: Vec<EventTypeLabel>,
    /// Values with their labels; without any, values are numbers.
    pub values: Vec<(u64, String)>,
}

/// An event type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTypeLabel {
    /// Its colour gradient.
    pub gradient: u32,
    /// Its number.
    pub event_type: u64,
    /// Its label.
    pub label: String,
}

/// The part of a file that a line is in.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Other,
    States,
    StateColours,
    EventTypes,
    Values,
}

impl TraceLabelFile {
    /// Reads a `.pcf`. Lines that are not understood are passed over, as Paraver does.
    pub fn read(path: impl AsRef<Path>) -> Result<TraceLabelFile, Error> {
        let mut labels = TraceLabelFile::default();
        let mut lines = TraceLines::open(path.as_ref())?;
        let mut section = Section::Other;
        while let Some(line) = lines.next_line()? {
            let line = String::from_utf8_lossy(line);
            section = match line.trim() {
                "" => section,
                "STATES" => Section::States,
                "STATES_COLOR" => Section::StateColours,
                "EVENT_TYPE" => {
                    labels.event_types.push(EventTypeBlock::default());
                    Section::EventTypes
                }
                "VALUES" => Section::Values,
                line if line.starts_with("DEFAULT_") || line.starts_with("GRADIENT_") => Section::Other,
                line => {
                    labels.add_line(section, line);
                    section
                }
            };
        }
        Ok(labels)
    }

    /// The label of a value of an event type.
    pub fn value_label(&self, event_type: u64, value: u64) -> Option<&str> {
        let block = self.event_types.iter().find(|block| block.types.iter().any(|known| known.event_type == event_type))?;
        block.values.iter().find(|(known, _)| *known == value).map(|(_, label)| label.as_str())
    }

    fn add_line(&mut self, section: Section, line: &str) -> Option<()> {
        let (number, label) = line.split_once(char::is_whitespace)?;
        let label = label.trim();
        match section {
            Section::States => self.states.push(StateLabel { state: number.parse().ok()?, name: label.into(), colour: [0; 3] }),
            Section::StateColours => {
                let number = number.parse().ok()?;
                self.states.iter_mut().find(|state| state.state == number)?.colour = parse_colour(label)?;
            }
            Section::EventTypes => {
                let (event_type, label) = label.split_once(char::is_whitespace).unwrap_or((label, ""));
                let (gradient, event_type) = (number.parse().unwrap_or(0), event_type.parse().ok()?);
                self.event_types.last_mut()?.types.push(EventTypeLabel { gradient, event_type, label: label.trim().into() });
            }
            Section::Values => self.event_types.last_mut()?.values.push((number.parse().ok()?, label.into())),
            Section::Other => {}
        }
        Some(())
    }
}

/// `{r,g,b}`.
fn parse_colour(text: &str) -> Option<[u8; 3]> {
    let mut parts = text.strip_prefix('{')?.strip_suffix('}')?.split(',').map(|part| part.trim().parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// The text of the file.
impl fmt::Display for TraceLabelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DEFAULT_OPTIONS)?;
        f.write_str("STATES\n")?;
        for StateLabel { state, name, .. } in &self.states {
            writeln!(f, "{state}    {}", single_line(name))?;
        }
        f.write_str("\n\nSTATES_COLOR\n")?;
        for StateLabel { state, colour: [red, green, blue], .. } in &self.states {
            writeln!(f, "{state}    {{{red},{green},{blue}}}")?;
        }
        f.write_str("\n\n")?;
        self.event_types.iter().try_for_each(|block| write!(f, "{block}"))
    }
}

impl fmt::Display for EventTypeBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EVENT_TYPE\n")?;
        for EventTypeLabel { gradient, event_type, label } in &self.types {
            writeln!(f, "{gradient}    {event_type}    {}", single_line(label))?;
        }
        if !self.values.is_empty() {
            f.write_str("VALUES\n")?;
        }
        for (value, label) in &self.values {
            writeln!(f, "{value}      {}", single_line(label))?;
        }
        f.write_str("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let state = |state, name: &str, colour| StateLabel { state, name: name.into(), colour };
        let event_type = |event_type, label: &str| EventTypeLabel { gradient: 9, event_type, label: label.into() };
        let labels = TraceLabelFile {
            states: vec![state(0, "Idle", [117, 195, 255]), state(1, "Running", [0, 0, 255])],
            event_types: vec![
                EventTypeBlock { types: vec![event_type(7, "Function")], values: vec![(0, "End".into()), (3, "main".into())] },
                EventTypeBlock { types: vec![event_type(8, "Bytes sent"), event_type(9, "Bytes received")], values: Vec::new() },
            ],
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), labels.to_string()).unwrap();
        let read = TraceLabelFile::read(file.path()).unwrap();
        assert_eq!(read, labels);
        assert_eq!((read.value_label(7, 3), read.value_label(7, 4), read.value_label(8, 0)), (Some("main"), None, None));
    }
}
