//! Whether a run printed what the reference runs print.
//!
//! Times, rates and dates differ from run to run, and ranks print in any order. So lines are compared as a multiset, and numbers do not
//! count in lines that speak of times, and in lines whose numbers differ between reference runs. Everything else must be equal.

use std::collections::{BTreeMap, BTreeSet};

/// Words of lines whose numbers are measurements. A growth rate or a wind speed is a result, so such words are not among them.
const TIME_WORDS: [&str; 29] = [
    "time",
    "timer",
    "timing",
    "timings",
    "times",
    "second",
    "seconds",
    "sec",
    "secs",
    "elapsed",
    "wall",
    "wallclock",
    "walltime",
    "clock",
    "cpu",
    "duration",
    "flops",
    "flop",
    "mflops",
    "gflops",
    "mops",
    "mop",
    "bandwidth",
    "latency",
    "throughput",
    "fom",
    "started",
    "ended",
    "grind",
];
/// Units: after a number, a slash or a bracket.
const TIME_UNITS: [&str; 6] = ["s", "ms", "us", "ns", "usec", "msec"];

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputDifference {
    /// A line of the reference that is missing.
    pub missing: Option<String>,
    /// A line that the reference does not have.
    pub unexpected: Option<String>,
}

/// The output of the program without changes.
#[derive(Clone, Debug, Default)]
pub struct OutputComparison {
    reference: Vec<String>,
    runs: usize,
    /// Lines without their numbers whose numbers differ between reference runs.
    varying: BTreeSet<String>,
    /// Whether reference runs differ in more than numbers.
    is_irregular: bool,
}

impl OutputComparison {
    /// Adds the output of a reference run.
    pub fn add_reference(&mut self, output: &str) {
        let lines: Vec<String> = output.lines().map(str::to_owned).collect();
        if self.runs == 0 {
            self.reference = lines;
        } else {
            let (missing, unexpected) = self.unmatched(&lines);
            let skeletons = |lines: &[String]| lines.iter().map(|line| without_numbers(line)).collect::<BTreeSet<_>>();
            let (missing, unexpected) = (skeletons(&missing), skeletons(&unexpected));
            self.varying.extend(missing.union(&unexpected).cloned());
            self.is_irregular |= missing != unexpected;
        }
        self.runs += 1;
    }

    /// Whether the output differs from run to run in more than numbers, so that it cannot be compared.
    pub fn is_irregular(&self) -> bool {
        self.is_irregular
    }

    /// Compares an output with the reference; `None` if it is the same, or if outputs cannot be compared.
    pub fn difference(&self, output: &str) -> Option<OutputDifference> {
        if self.is_irregular || self.runs == 0 {
            return None;
        }
        let lines: Vec<String> = output.lines().map(str::to_owned).collect();
        let (missing, unexpected) = self.unmatched(&lines);
        let is_same = missing.is_empty() && unexpected.is_empty();
        (!is_same).then(|| OutputDifference { missing: missing.into_iter().next(), unexpected: unexpected.into_iter().next() })
    }

    /// Lines of the reference without an equal in `lines`, and the other way round.
    fn unmatched(&self, lines: &[String]) -> (Vec<String>, Vec<String>) {
        let mut counts: BTreeMap<String, (i64, Vec<&String>)> = BTreeMap::new();
        for line in &self.reference {
            let entry = counts.entry(self.masked(line)).or_default();
            entry.0 += 1;
            entry.1.push(line);
        }
        for line in lines {
            let entry = counts.entry(self.masked(line)).or_default();
            entry.0 -= 1;
            entry.1.push(line);
        }
        let mut unmatched = (Vec::new(), Vec::new());
        for (surplus, examples) in counts.into_values().filter(|(surplus, _)| *surplus != 0) {
            let side = if surplus > 0 { &mut unmatched.0 } else { &mut unmatched.1 };
            side.extend(examples.into_iter().take(surplus.unsigned_abs() as usize).cloned());
        }
        unmatched
    }

    /// A line as it is compared.
    fn masked(&self, line: &str) -> String {
        let skeleton = without_numbers(line);
        if tells_time(line) || self.varying.contains(&skeleton) { skeleton } else { line.trim_end().to_owned() }
    }
}

/// The line with each number replaced by `#`, and without spaces: numbers of other lengths have more or fewer of them around.
fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    let (mut is_after_letter, mut is_in_name) = (false, false);
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let is_inside_name = is_after_letter || (is_in_name && first.is_ascii_digit());
        is_in_name = is_inside_name && first.is_ascii_digit();
        let length = if is_inside_name { 0 } else { number_length(rest) };
        if length > 0 {
            text.push('#');
            is_after_letter = false;
            rest = &rest[length..];
        } else {
            if !first.is_whitespace() {
                text.push(first);
            }
            is_after_letter = first.is_alphabetic() || first == '_';
            rest = &rest[first.len_utf8()..];
        }
    }
    text
}

/// Bytes of the number at the start of a text, with sign and exponent; 0 if there is none.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let fraction = if bytes.get(end) == Some(&b'.') { digits(end + 1) } else { 0 };
    if whole + fraction == 0 {
        return 0;
    }
    if bytes.get(end) == Some(&b'.') {
        end += 1 + fraction;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E' | b'd' | b'D')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = if end + 1 + sign <= bytes.len() { digits(end + 1 + sign) } else { 0 };
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    end
}

/// Whether the line speaks of a time, a rate or a date.
fn tells_time(line: &str) -> bool {
    let is_time_word = |word: &str| TIME_WORDS.contains(&word.to_ascii_lowercase().as_str());
    let words = line.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let has_time_word = |word: &str| is_time_word(word) || split_camel_case(word).iter().any(|part| is_time_word(part));
    words.into_iter().any(has_time_word) || has_time_unit(line) || has_clock_time(line)
}

/// Whether a unit of time follows a number, a slash or a bracket.
fn has_time_unit(line: &str) -> bool {
    let mut before = ' ';
    let mut word = String::new();
    for letter in line.chars().chain([' ']) {
        if letter.is_ascii_alphabetic() {
            word.push(letter);
            continue;
        }
        if TIME_UNITS.contains(&word.to_ascii_lowercase().as_str()) && (before.is_ascii_digit() || "/([.".contains(before)) {
            return true;
        }
        if !word.is_empty() || !letter.is_whitespace() {
            before = if letter.is_whitespace() { ' ' } else { letter };
        }
        word.clear();
    }
    false
}

/// The parts of `wallTime` and `WallTime`.
fn split_camel_case(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_lower = false;
    for letter in word.chars() {
        match parts.last_mut() {
            Some(part) if !(letter.is_uppercase() && was_lower) => part.push(letter),
            _ => parts.push(letter.to_string()),
        }
        was_lower = letter.is_lowercase();
    }
    parts
}

/// Whether the line has a time such as `12:05:59`.
fn has_clock_time(line: &str) -> bool {
    let is_pair = |part: &str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let words = line.split(|c: char| !(c.is_ascii_digit() || c == ':'));
    words.filter(|word| word.matches(':').count() == 2).any(|word| word.split(':').all(is_pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(references: &[&str]) -> OutputComparison {
        let mut comparison = OutputComparison::default();
        references.iter().for_each(|output| comparison.add_reference(output));
        comparison
    }

    #[test]
    fn times_do_not_count_and_results_do() {
        let reference =
            "Problem size = 30\nElapsed time = 9.6 (s)\nFinal Origin Energy = 1.322672e+06\nMop/s total = 812.3\nended 12:00:01\n";
        let same = "Problem size = 30\nElapsed time =       11 (s)\nFinal Origin Energy = 1.322672e+06\nMop/s total = 9.1\nended 9:59:59\n";
        let comparison = comparison(&[reference]);
        assert_eq!(comparison.difference(same), None);
        let other = same.replace("1.322672e+06", "1.322673e+06");
        let difference = comparison.difference(&other).unwrap();
        assert_eq!(difference.unexpected.as_deref(), Some("Final Origin Energy = 1.322673e+06"));
        assert_eq!(difference.missing.as_deref(), Some("Final Origin Energy = 1.322672e+06"));
        assert!(comparison.difference("Problem size = 30\n").is_some(), "lines are missing");
    }

    #[test]
    fn numbers_that_differ_between_reference_runs_do_not_count() {
        let comparison = comparison(&["WR11 1000 80 0.35\nx = 1\n", "WR11 1000 80 0.36\nx = 1\n"]);
        assert_eq!(comparison.difference("WR11 1000 80 1.2e+01\nx = 1\n"), None);
        assert!(comparison.difference("WR11 1000 80 0.35\nx = 2\n").is_some());
    }

    #[test]
    fn ranks_may_print_in_any_order() {
        assert_eq!(comparison(&["rank 0\nrank 1\n"]).difference("rank 1\nrank 0\n"), None);
        assert!(comparison(&["rank 0\nrank 1\n"]).difference("rank 1\nrank 1\n").is_some());
    }

    #[test]
    fn an_output_that_is_never_the_same_is_not_compared() {
        let comparison = comparison(&["a\n", "a\nb\n"]);
        assert!(comparison.is_irregular());
        assert_eq!(comparison.difference("c\n"), None);
    }

    #[test]
    fn numbers_are_recognised_with_sign_and_exponent_but_not_inside_names() {
        assert_eq!(without_numbers("a12 -2.5e-3, .5 7. 1D+02 2nd"), "a12#,####nd");
        assert_eq!(without_numbers("time (  1.25 all)"), without_numbers("time (0.125 all)"));
    }
}
