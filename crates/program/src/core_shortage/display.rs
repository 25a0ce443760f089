//! The sentence that reports, pages and error messages say about a shortage.

use std::fmt;

use sintonia_recording::header::RecordingHeader;
use sintonia_text::quantity::{format_percent, format_plural};

use super::{CoreShortage, ShortageBasis, ShortageCause};

impl CoreShortage {
    /// The main cause and its share of the time in one sentence: `8 ranks shared 2 cores: 71 % of their time they waited for a
    /// core.`
    pub fn statement(&self, header: &RecordingHeader) -> String {
        let Some(cause) = self.causes.first() else {
            return format!("{} of their time threads waited for a core.", format_percent(self.share()));
        };
        let share = format_percent(self.share_of(cause.ranks()));
        let basis = match self.basis {
            ShortageBasis::Measured => "",
            ShortageBasis::Inferred => " (estimated from processor time and binding)",
        };
        let also = match self.causes.len() {
            1 => String::new(),
            causes => format!(" {} more {}.", causes - 1, if causes == 2 { "cause" } else { "causes" }),
        };
        let (whose, who) = if cause.is_about_one_rank() { ("its", "it") } else { ("their", "they") };
        format!("{}: {share} of {whose} time {who} waited for a core{basis}.{also}", cause.in_words(header))
    }
}

impl ShortageCause {
    /// Whether it concerns a single rank, not threads that compete with each other.
    pub fn is_about_one_rank(&self) -> bool {
        match self {
            ShortageCause::Oversubscribed { .. } | ShortageCause::SharedProcessors { .. } => false,
            ShortageCause::Quota { ranks, .. } | ShortageCause::OtherWork { ranks, .. } => ranks.len() == 1,
        }
    }

    /// What happened, without its share of the time.
    pub fn in_words(&self, header: &RecordingHeader) -> String {
        let on_host = match header.hosts.get(self.host() as usize).filter(|_| header.hosts.len() > 1) {
            Some(name) => format!(" of {name}"),
            None => String::new(),
        };
        let unit = |count: usize| core_word(header, self.host(), count);
        match self {
            ShortageCause::Oversubscribed { ranks, threads, processors, .. } => {
                let who = competitors(ranks, *threads);
                format!("{who} shared {} {}{on_host}", processors.len(), unit(processors.len()))
            }
            ShortageCause::SharedProcessors { ranks, processors, .. } => {
                let who = capitalise(&format_numbers("rank", ranks));
                format!("{who} were bound to the same {} {}{on_host}", unit(processors.len()), list(processors))
            }
            ShortageCause::Quota { ranks, quota, .. } => {
                let who = format_plural(ranks.len() as u64, "rank");
                format!("A CPU quota of {} {}{on_host} stopped {who}", trim_number(*quota), unit(if *quota == 1.0 { 1 } else { 2 }))
            }
            ShortageCause::OtherWork { ranks, .. } => {
                format!("Other work ran on the cores of {}{on_host}", format_numbers("rank", ranks))
            }
        }
    }
}

impl fmt::Display for ShortageBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShortageBasis::Measured => "measured",
            ShortageBasis::Inferred => "inferred",
        })
    }
}

/// `8 ranks`, or `8 threads of 2 ranks`.
fn competitors(ranks: &[u32], threads: u32) -> String {
    let count = format_plural(ranks.len() as u64, "rank");
    if threads as usize == ranks.len() { count } else { format!("{} of {count}", format_plural(threads.into(), "thread")) }
}

/// Processors are cores unless the host has SMT.
fn core_word(header: &RecordingHeader, host: u32, count: usize) -> &'static str {
    let smt = header.host_descriptions.get(host as usize).is_some_and(|host| !host.smt_siblings.is_empty());
    match (smt, count) {
        (false, 1) => "core",
        (false, _) => "cores",
        (true, 1) => "hardware thread",
        (true, _) => "hardware threads",
    }
}

/// `rank 3`, `ranks 0 and 1`, `ranks 0-3`.
fn format_numbers(what: &str, numbers: &[u32]) -> String {
    match numbers {
        [one] => format!("{what} {one}"),
        [one, other] => format!("{what}s {one} and {other}"),
        numbers => format!("{what}s {}", list(numbers)),
    }
}

/// Numbers as ranges: `0-3, 8`.
fn list(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let text = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

fn trim_number(number: f64) -> String {
    format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
