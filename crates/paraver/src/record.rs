//! The records of a trace: a line each.

use crate::lines::ColonFields;
use crate::text::{push_number, push_numbers};

/// What a record is about, all numbered from 1; CPU 0 is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceObject {
    /// The CPU.
    pub cpu: u64,
    /// The application.
    pub application: u64,
    /// The task of the application.
    pub task: u64,
    /// The thread of the task.
    pub thread: u64,
}

/// One end of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommunicationEnd {
    /// The thread.
    pub object: TraceObject,
    /// When the send or receive was called.
    pub logical_time: u64,
    /// When the message was sent or received.
    pub physical_time: u64,
}

/// One side of an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntercommunicatorSide {
    /// The communicator of its group.
    pub communicator: u64,
    /// The task that leads it.
    pub leader: u64,
}

/// A record. Times are in the unit of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A thread is in a state for a while.
    State {
        /// The thread.
        object: TraceObject,
        /// When it begins.
        begin: u64,
        /// When it ends.
        end: u64,
        /// The state.
        state: u64,
    },
    /// Events of a thread.
    Events {
        /// The thread.
        object: TraceObject,
        /// When they happen.
        time: u64,
        /// Type and value of each; negative values are read as 0.
        events: &'a [(u64, u64)],
    },
    /// A message.
    Communication {
        /// The send.
        send: CommunicationEnd,
        /// The receive.
        receive: CommunicationEnd,
        /// Size in bytes.
        size: u64,
        /// The tag; a negative one is read as 0.
        tag: u64,
    },
    /// A communicator.
    Communicator {
        /// Its application.
        application: u64,
        /// Its number.
        id: u64,
        /// Its tasks; 0 stands for a negative one, as in the empty communicators of old traces.
        tasks: &'a [u64],
    },
    /// An intercommunicator.
    Intercommunicator {
        /// Its application.
        application: u64,
        /// Its number.
        id: u64,
        /// Its two sides.
        sides: [IntercommunicatorSide; 2],
    },
    /// A record of an obsolete type, from `b'4'` to `b'9'`.
    Obsolete(u8),
}

/// Space for the lists of a record, to be used again.
#[derive(Debug, Default)]
pub(crate) struct RecordLists {
    events: Vec<(u64, u64)>,
    tasks: Vec<u64>,
}

impl<'a> Record<'a> {
    /// Parses a line; `None` if it is empty or a comment, an error is a message.
    pub(crate) fn parse(line: &[u8], lists: &'a mut RecordLists) -> Result<Option<Record<'a>>, String> {
        let (kind, mut fields) = match line {
            [] | [b'#', ..] => return Ok(None),
            [kind, b':', rest @ ..] => (*kind, ColonFields::new(rest)),
            _ => return Err("expected a record type and a colon".into()),
        };
        let fields = &mut fields;
        Ok(Some(match kind {
            b'1' => parse_state(fields)?,
            b'2' => parse_events(fields, &mut lists.events)?,
            b'3' => parse_communication(fields)?,
            b'c' | b'C' => parse_communicator(fields, &mut lists.tasks)?,
            b'i' | b'I' => parse_intercommunicator(fields)?,
            b'4'..=b'9' => Record::Obsolete(kind),
            _ => return Err(format!("unknown record type {:?}", char::from(kind))),
        }))
    }

    /// Appends the line, without its end; nothing for an obsolete record.
    pub fn encode(&self, line: &mut Vec<u8>) {
        match *self {
            Record::State { object, begin, end, state } => {
                push_object(line, b"1:", object);
                line.push(b':');
                push_numbers(line, &[begin, end, state]);
            }
            Record::Events { object, time, events } => {
                push_object(line, b"2:", object);
                line.push(b':');
                push_number(line, time);
                push_events(line, events);
            }
            Record::Communication { send, receive, size, tag } => {
                for (prefix, end) in [(&b"3:"[..], send), (b":", receive)] {
                    push_object(line, prefix, end.object);
                    line.push(b':');
                    push_numbers(line, &[end.logical_time, end.physical_time]);
                }
                line.push(b':');
                push_numbers(line, &[size, tag]);
            }
            Record::Communicator { application, id, tasks } => {
                line.extend_from_slice(b"c:");
                push_numbers(line, &[application, id, tasks.len() as u64]);
                for task in tasks {
                    line.push(b':');
                    push_number(line, *task);
                }
            }
            Record::Intercommunicator { application, id, sides: [a, b] } => {
                line.extend_from_slice(b"i:");
                push_numbers(line, &[application, id, a.communicator, a.leader, b.communicator, b.leader]);
            }
            Record::Obsolete(_) => {}
        }
    }
}

/// Appends type and value of each event, each with a leading colon.
pub fn push_events(line: &mut Vec<u8>, events: &[(u64, u64)]) {
    for (event_type, value) in events {
        line.push(b':');
        push_numbers(line, &[*event_type, *value]);
    }
}

fn push_object(line: &mut Vec<u8>, prefix: &[u8], object: TraceObject) {
    line.extend_from_slice(prefix);
    push_numbers(line, &[object.cpu, object.application, object.task, object.thread]);
}

/// `cpu:application:task:thread`.
fn parse_object(fields: &mut ColonFields) -> Result<TraceObject, String> {
    let numbers = (fields.next_number(), fields.next_number(), fields.next_number(), fields.next_number());
    let (Some(cpu), Some(application), Some(task), Some(thread)) = numbers else {
        return Err("expected processor:application:task:thread".into());
    };
    Ok(TraceObject { cpu, application, task, thread })
}

fn parse_time(fields: &mut ColonFields) -> Result<u64, String> {
    fields.next_number().ok_or_else(|| "expected a time".into())
}

fn parse_state<'a>(fields: &mut ColonFields) -> Result<Record<'a>, String> {
    let (object, begin, end) = (parse_object(fields)?, parse_time(fields)?, parse_time(fields)?);
    let state = fields.next_value().ok_or("expected a state")?;
    Ok(Record::State { object, begin, end, state })
}

fn parse_events<'a>(fields: &mut ColonFields, events: &'a mut Vec<(u64, u64)>) -> Result<Record<'a>, String> {
    let (object, time) = (parse_object(fields)?, parse_time(fields)?);
    events.clear();
    while !fields.is_empty() {
        let (Some(event_type), Some(value)) = (fields.next_number(), fields.next_value()) else {
            return Err("expected the type and the value of an event".into());
        };
        events.push((event_type, value));
    }
    Ok(Record::Events { object, time, events })
}

fn parse_communication<'a>(fields: &mut ColonFields) -> Result<Record<'a>, String> {
    let (send, receive) = (parse_end(fields)?, parse_end(fields)?);
    let (Some(size), Some(tag)) = (fields.next_value(), fields.next_value()) else {
        return Err("expected the size and the tag of a message".into());
    };
    Ok(Record::Communication { send, receive, size, tag })
}

fn parse_end(fields: &mut ColonFields) -> Result<CommunicationEnd, String> {
    Ok(CommunicationEnd { object: parse_object(fields)?, logical_time: parse_time(fields)?, physical_time: parse_time(fields)? })
}

/// `application:id:size:task:task...`.
fn parse_communicator<'a>(fields: &mut ColonFields, tasks: &'a mut Vec<u64>) -> Result<Record<'a>, String> {
    let (application, id) = parse_communicator_id(fields)?;
    let count = fields.next_number();
    tasks.clear();
    while !fields.is_empty() {
        tasks.push(fields.next_value().ok_or("expected a task")?);
    }
    if count != Some(tasks.len() as u64) {
        return Err("expected the number of tasks of the communicator, and as many tasks".into());
    }
    Ok(Record::Communicator { application, id, tasks })
}

/// `application:id:communicator:leader:communicator:leader`.
fn parse_intercommunicator<'a>(fields: &mut ColonFields) -> Result<Record<'a>, String> {
    let (application, id) = parse_communicator_id(fields)?;
    let mut side = || Some(IntercommunicatorSide { communicator: fields.next_number()?, leader: fields.next_number()? });
    let (Some(local), Some(remote)) = (side(), side()) else {
        return Err("expected two communicators, each with its leader".into());
    };
    Ok(Record::Intercommunicator { application, id, sides: [local, remote] })
}

fn parse_communicator_id(fields: &mut ColonFields) -> Result<(u64, u64), String> {
    let id = fields.next_number().zip(fields.next_number());
    id.ok_or_else(|| "expected the application and the number of a communicator".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(line: &str) -> Result<Option<String>, String> {
        let mut lists = RecordLists::default();
        Ok(Record::parse(line.as_bytes(), &mut lists)?.map(|record| {
            let mut line = Vec::new();
            record.encode(&mut line);
            String::from_utf8(line).unwrap()
        }))
    }

    #[test]
    fn a_record_is_the_line_it_was() {
        for line in ["1:1:1:1:1:0:20:1", "2:1:1:2:1:5:50000001:4:7:0", "3:1:1:1:1:5:6:2:1:2:1:7:9:64:3", "c:1:2:2:1:4", "i:1:9:2:1:3:2"] {
            assert_eq!(again(line), Ok(Some(line.into())));
        }
        assert_eq!((again(""), again("# a comment")), (Ok(None), Ok(None)));
        assert_eq!(again("2:1:1:2:1:5:7:-4"), Ok(Some("2:1:1:2:1:5:7:0".into())));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = [
            ("x", "expected a record type and a colon"),
            ("z:1", "unknown record type 'z'"),
            ("1:1:1:1", "expected processor:application:task:thread"),
            ("1:1:1:1:1:5:x:1", "expected a time"),
            ("2:1:1:1:1:5:7", "expected the type and the value of an event"),
            ("c:1:2:3:1:4", "expected the number of tasks of the communicator, and as many tasks"),
        ];
        for (line, message) in told {
            assert_eq!(again(line), Err(message.into()), "{line}");
        }
    }
}
