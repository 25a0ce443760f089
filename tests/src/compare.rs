//! When two runs of a program count as the same.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Outcome, own_lines};

/// What of a run must not change: its status, its output, and its lines on stderr.
///
/// Launchers put process ids, ports and addresses into their messages, and ranks write theirs in any order: numbers
/// become `#` and lines a set. Standard output is compared as it is; the notice that MPICH's launcher writes there
/// when a rank fails counts as stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedRun {
    /// Exit status, as a shell reports it.
    pub status: i32,
    /// What the program printed.
    pub stdout: String,
    /// The lines on stderr, numbers replaced.
    pub stderr: BTreeSet<String>,
}

impl NormalizedRun {
    /// Of a run in `folder`, without the messages of Sintonia.
    pub fn new(outcome: &Outcome, folder: &Path) -> NormalizedRun {
        let (_, mut stderr) = own_lines(&outcome.stderr);
        let (printed, notice) = without_notice(&outcome.stdout);
        stderr.extend(notice);
        let folder = folder.display().to_string();
        // Open MPI's launchers complain of themselves when a rank ends in the middle of a message to them
        stderr.retain(|line| !line.contains("ORTE_ERROR_LOG") && !line.contains("PMIX ERROR"));
        let stderr = stderr.iter().map(|line| without_numbers(&line.replace(&folder, "FOLDER"))).collect();
        NormalizedRun { status: outcome.status, stdout: printed, stderr }
    }

    /// What is different in `other`, or nothing.
    pub fn difference(&self, other: &NormalizedRun) -> Option<String> {
        let mut text = String::new();
        if self.status != other.status {
            text += &format!("status {} became {}\n", self.status, other.status);
        }
        if self.stdout != other.stdout {
            text += &format!("stdout was\n{}and became\n{}", self.stdout, other.stdout);
        }
        for gone in self.stderr.difference(&other.stderr) {
            text += &format!("no longer on stderr: {gone}\n");
        }
        for new in other.stderr.difference(&self.stderr) {
            text += &format!("new on stderr: {new}\n");
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// Like `difference`, for runs that fail: a launcher that ends a run prints some of its lines, some times, so a line
    /// that is missing tells nothing; a line that is new does.
    pub fn new_differences(&self, other: &NormalizedRun) -> Option<String> {
        let mut without_gone = self.clone();
        without_gone.stderr.retain(|line| other.stderr.contains(line));
        without_gone.difference(other)
    }
}

/// Splits the notice of MPICH's launcher from what the program printed.
fn without_notice(stdout: &str) -> (String, Vec<String>) {
    const NOTICE: [&str; 4] = ["===", "=   ", "YOUR APPLICATION TERMINATED", "Intel(R) MPI Library troubleshooting"];
    const AFTER: [&str; 2] = ["This typically refers to a problem with your", "Please see the FAQ page for debugging"];
    let begins = |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    let noticed = stdout.lines().any(|line| begins(line, &NOTICE));
    let part = |line: &&str| noticed && (begins(line, &NOTICE) || begins(line, &AFTER) || line.is_empty());
    let (notice, printed): (Vec<&str>, Vec<&str>) = stdout.lines().partition(part);
    (printed.iter().map(|line| format!("{line}\n")).collect(), notice.into_iter().map(String::from).collect())
}

/// Runs of digits, and whole hexadecimal numbers, as one `#`.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let hex = rest.strip_prefix("0x").map(|digits| 2 + length(digits, |c| c.is_ascii_hexdigit()));
        let number = hex.filter(|&length| length > 2).unwrap_or_else(|| length(rest, |c| c.is_ascii_digit()));
        if number > 0 {
            out.push('#');
            rest = &rest[number..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}
