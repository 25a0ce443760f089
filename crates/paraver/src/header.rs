//! The first line of a trace: date, duration, and tasks with their nodes.

use crate::text;

/// The first line.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceHeader {
    /// Date in seconds since 1970; 0 if unknown.
    pub started_s: f64,
    /// Duration of the trace in time units.
    pub duration: u64,
    /// Nanoseconds per time unit: 1, 1,000 or 1,000,000.
    pub unit_ns: u64,
    /// Number of CPUs of each node; empty if the trace does not have it.
    pub node_cpus: Vec<u64>,
    /// The tasks of each application.
    pub applications: Vec<Vec<TaskDefinition>>,
    /// Number of communicator and intercommunicator records.
    pub communicators: u64,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskDefinition {
    /// Number of threads.
    pub threads: u64,
    /// Its node, from 1; 0 if unknown.
    pub node: u64,
}

impl TraceHeader {
    /// Parses it; errors are messages.
    pub(crate) fn parse(line: &[u8]) -> Result<TraceHeader, String> {
        let line = String::from_utf8_lossy(line);
        let rest = line.strip_prefix("#Paraver").ok_or("a Paraver trace begins with \"#Paraver\"")?;
        let (date, rest) = rest.split_once('(').and_then(|(_, rest)| rest.split_once("):")).ok_or("expected (date):")?;
        let mut rest = HeaderCursor(rest);
        let time = rest.take_until(':').ok_or("expected the duration of the trace and a colon")?;
        let (duration, unit_ns) = parse_duration(time).ok_or_else(|| format!("{time:?} is not the duration of a trace"))?;
        let node_cpus = rest.parse_nodes()?;
        let count = rest
            .take_number()
            .filter(|count| *count > 0 && rest.take_char(':'))
            .ok_or("expected the number of applications and a colon")?;
        let (mut applications, mut communicators) = (Vec::new(), 0);
        while applications.len() as u64 != count {
            let (tasks, of_application) = rest.parse_application()?;
            applications.push(tasks);
            communicators += of_application;
        }
        let started_s = text::parse_date(date).unwrap_or(0.0);
        Ok(TraceHeader { started_s, duration, unit_ns, node_cpus, applications, communicators })
    }

    /// Formats it. The communicators belong to the last application.
    pub(crate) fn to_line(&self) -> String {
        let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(",");
        let unit = match self.unit_ns {
            1 => "_ns",
            1_000_000 => "_ms",
            _ => "",
        };
        let (date, duration) = (text::format_date(self.started_s), self.duration);
        let nodes = match self.node_cpus.len() {
            0 => "0".to_owned(),
            count => format!("{count}({})", list(&mut self.node_cpus.iter().map(u64::to_string))),
        };
        let application = |tasks: &Vec<TaskDefinition>| {
            format!("{}({})", tasks.len(), list(&mut tasks.iter().map(|task| format!("{}:{}", task.threads, task.node))))
        };
        let applications = list(&mut self.applications.iter().map(application));
        let (count, communicators) = (self.applications.len(), self.communicators);
        format!("#Paraver ({date}):{duration}{unit}:{nodes}:{count}:{applications},{communicators}")
    }
}

/// A duration such as `100_ns`, and its unit; microseconds without one.
fn parse_duration(time: &str) -> Option<(u64, u64)> {
    let (number, unit) = time.split_once('_').unwrap_or((time, "us"));
    let duration = number.parse::<f64>().ok()? as u64;
    let unit_ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        _ => return None,
    };
    Some((number.parse().unwrap_or(duration), unit_ns))
}

/// The unparsed rest of the line.
struct HeaderCursor<'a>(&'a str);

impl<'a> HeaderCursor<'a> {
    fn take_until(&mut self, end: char) -> Option<&'a str> {
        let (found, rest) = self.0.split_once(end)?;
        self.0 = rest;
        Some(found)
    }

    fn take_char(&mut self, letter: char) -> bool {
        let rest = self.0.strip_prefix(letter);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take_number(&mut self) -> Option<u64> {
        let end = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        let number = self.0[..end].parse().ok()?;
        self.0 = &self.0[end..];
        Some(number)
    }

    /// `0:`, `2(4,4):` or, in old traces, `2:`. The node of a task is given with the task.
    fn parse_nodes(&mut self) -> Result<Vec<u64>, String> {
        let mut cpus = Vec::new();
        let count = self.take_number().ok_or("expected the number of nodes")?;
        if self.take_char('(') {
            let list = self.take_until(')').ok_or("the list of nodes is not terminated")?;
            if list.split(',').count() as u64 != count {
                return Err(format!("{count} nodes are announced, but {} listed", list.split(',').count()));
            }
            cpus = list.split(',').map(|cpus| cpus.trim().parse().unwrap_or(0)).collect();
        }
        if self.take_char(':') { Ok(cpus) } else { Err("expected a colon after the nodes".into()) }
    }

    /// `2(1:1,1:1)`, and what separates it from the next one: a colon or comma, or the number of communicators.
    fn parse_application(&mut self) -> Result<(Vec<TaskDefinition>, u64), String> {
        let count = self
            .take_number()
            .filter(|_| self.take_char('('))
            .ok_or("expected the number of tasks of an application and a list of them")?;
        let list = self.take_until(')').ok_or("the list of tasks is not terminated")?;
        let task = |text: &str| {
            let (threads, node) = text.split_once(':')?;
            Some(TaskDefinition { threads: threads.parse().ok()?, node: node.parse().ok()? })
        };
        let tasks: Option<Vec<TaskDefinition>> = list.split(',').map(task).collect();
        let tasks = tasks.ok_or("expected threads:node of each task")?;
        if tasks.len() as u64 != count {
            return Err(format!("{count} tasks are announced, but {} listed", tasks.len()));
        }
        let separated = self.take_char(',') || self.take_char(':');
        let digits = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        let mut communicators = 0;
        if separated && !self.0[digits..].starts_with('(') {
            communicators = self.0[..digits].parse().unwrap_or(0);
            self.0 = self.0[digits..].trim_start_matches([':', ',']);
        }
        Ok((tasks, communicators))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Result<TraceHeader, String> {
        TraceHeader::parse(line.as_bytes())
    }

    #[test]
    fn the_first_line_of_extrae_is_understood() {
        let header = header("#Paraver (15/11/2026 at 05:56):331749154_ns:2(2,1):1:3(1:1,2:1,1:2),4").unwrap();
        let task = |threads, node| TaskDefinition { threads, node };
        assert_eq!(header.applications, [[task(1, 1), task(2, 1), task(1, 2)]]);
        assert_eq!((header.unit_ns, header.started_s), (1, 1_794_722_160.0));
        assert_eq!((header.duration, header.communicators, &header.node_cpus[..]), (331749154, 4, &[2, 1][..]));
        assert_eq!(header.to_line(), "#Paraver (15/11/2026 at 05:56):331749154_ns:2(2,1):1:3(1:1,2:1,1:2),4");
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
    fn anything_else_is_an_error() {
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
