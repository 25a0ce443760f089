//! The first line of a trace: when it was made, how long it is, and which tasks run on which nodes.

use super::text;

/// What the first line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// When the trace was made, in seconds since 1970; 0 if it does not say.
    pub started_s: f64,
    /// Nanoseconds in the unit of all times.
    pub unit_ns: u64,
    /// The tasks of each application.
    pub applications: Vec<Vec<Task>>,
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// How many threads it has.
    pub threads: u64,
    /// Its node, counted from 1; 0 if the trace does not say.
    pub node: u64,
}

impl Header {
    /// Reads it; if it cannot be read, what was expected.
    pub fn read(line: &[u8]) -> Result<Header, String> {
        let line = String::from_utf8_lossy(line);
        let rest = line.strip_prefix("#Paraver").ok_or("a Paraver trace begins with \"#Paraver\"")?;
        let (date, rest) = rest.split_once('(').and_then(|(_, rest)| rest.split_once("):")).ok_or("expected (date):")?;
        let mut rest = Text(rest);
        let time = rest.until(':').ok_or("expected the length of the trace and a colon")?;
        let unit_ns = unit(time).ok_or_else(|| format!("{time:?} is no length of a trace"))?;
        rest.nodes()?;
        let count = rest.number().filter(|count| *count > 0 && rest.take(':')).ok_or("expected the number of applications and a colon")?;
        let mut applications = Vec::new();
        while applications.len() as u64 != count {
            applications.push(rest.application()?);
        }
        Ok(Header { started_s: text::moment(date).unwrap_or(0.0), unit_ns, applications })
    }
}

/// The unit of a length such as `100_ns`; without one it is microseconds.
fn unit(time: &str) -> Option<u64> {
    let (number, unit) = time.split_once('_').unwrap_or((time, "us"));
    number.parse::<f64>().ok()?;
    Some(match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        _ => return None,
    })
}

/// What is left of the line.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn until(&mut self, end: char) -> Option<&'a str> {
        let (found, rest) = self.0.split_once(end)?;
        self.0 = rest;
        Some(found)
    }

    fn take(&mut self, letter: char) -> bool {
        let rest = self.0.strip_prefix(letter);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<u64> {
        let end = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        let number = self.0[..end].parse().ok()?;
        self.0 = &self.0[end..];
        Some(number)
    }

    /// `0:`, `2(4,4):` or, as old traces have it, `2:`. Which of them a task is on is said with the task.
    fn nodes(&mut self) -> Result<(), String> {
        let count = self.number().ok_or("expected the number of nodes")?;
        if self.take('(') {
            let list = self.until(')').ok_or("the list of nodes never ends")?;
            if list.split(',').count() as u64 != count {
                return Err(format!("{count} nodes are announced, but {} listed", list.split(',').count()));
            }
        }
        if self.take(':') { Ok(()) } else { Err("expected a colon after the nodes".into()) }
    }

    /// `2(1:1,1:1)`, and what stands before the next one: a colon or comma, or the number of communicators.
    fn application(&mut self) -> Result<Vec<Task>, String> {
        let count = self.number().filter(|_| self.take('(')).ok_or("expected the number of tasks of an application and a list of them")?;
        let list = self.until(')').ok_or("the list of tasks never ends")?;
        let task = |text: &str| {
            let (threads, node) = text.split_once(':')?;
            Some(Task { threads: threads.parse().ok()?, node: node.parse().ok()? })
        };
        let tasks: Option<Vec<Task>> = list.split(',').map(task).collect();
        let tasks = tasks.ok_or("expected threads:node of each task")?;
        if tasks.len() as u64 != count {
            return Err(format!("{count} tasks are announced, but {} listed", tasks.len()));
        }
        let separated = self.take(',') || self.take(':');
        let digits = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        if separated && !self.0[digits..].starts_with('(') {
            self.0 = self.0[digits..].trim_start_matches([':', ',']);
        }
        Ok(tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Result<Header, String> {
        Header::read(line.as_bytes())
    }

    #[test]
    fn the_first_line_of_extrae_is_understood() {
        let header = header("#Paraver (15/11/2026 at 05:56):331749154_ns:2(2,1):1:3(1:1,2:1,1:2),4").unwrap();
        let task = |threads, node| Task { threads, node };
        assert_eq!(header.applications, [[task(1, 1), task(2, 1), task(1, 2)]]);
        assert_eq!((header.unit_ns, header.started_s), (1, 1_794_722_160.0));
    }

    #[test]
    fn several_applications_may_be_separated_in_any_of_the_known_ways() {
        for lists in ["1(1:1),2(1:1,1:1),5", "1(1:1):2(1:1,1:1)", "1(1:1),3:2(1:1,1:1),5"] {
            let header = header(&format!("#Paraver (1/1/20 at 0:00):7:0:2:{lists}")).unwrap();
            assert_eq!(header.applications.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2], "{lists}");
            assert_eq!(header.unit_ns, 1000);
        }
    }

    #[test]
    fn old_traces_do_not_list_processors() {
        let header = header("#Paraver (26/01/04 at 16:35):260199:4:1:4(1:1,1:2,1:3,1:4),8").unwrap();
        assert_eq!(header.applications[0].len(), 4);
    }

    #[test]
    fn whatever_else_stands_there_is_an_error() {
        let good = "#Paraver (15/11/2026 at 05:56):331749154_ns:1(3):1:2(1:1,2:1),4";
        for end in 0..good.find("),4").unwrap() {
            assert!(header(&good[..end]).is_err(), "{}", &good[..end]);
        }
        for wrong in [
            "#Paraver (x):5_h:0:1:1(1:1)",
            "#Paraver (x):5:2(1):1:1(1:1)",
            "#Paraver (x):5:0:1:2(1:1)",
            "#Paraver (x):5:0:0:",
            "#Paraver (x):5:0:18446744073709551615:1(1:1)",
            "#Paraver (x):5:0:99999999999999999999:1(1:1)",
            "#Paraver (x):5:0:1:1(1:)",
        ] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
    }
}
