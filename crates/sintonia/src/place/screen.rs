//! A placement, as text.

use sintonia_placement::gain::Gain;

use super::apply;
use super::finding::{Basis, Known};
use super::{Objective, Shown};
use crate::fit::page::{Column, hanging, page, remarks, table};
use crate::text::{bytes, count, plural, seconds, tail};

/// Hosts whose ranks are listed.
const MOST_HOSTS: usize = 32;
const WIDTH: usize = 100;

/// Everything that was found.
pub fn show(shown: &Shown) -> String {
    page([title(shown), costs(shown), verdict(shown), hosts(shown), measured(shown), shown.written.lines(), remarks(&shown.found.notes)])
}

fn title(shown: &Shown) -> Vec<String> {
    let used: Vec<&sintonia_placement::Host> = shown.room.cluster.hosts.iter().filter(|host| host.slots > 0).collect();
    let slots = plural(shown.room.cluster.slots().into(), "slot");
    vec![format!(
        "{}: {} on {} with {slots}",
        tail(&shown.subject.name, 40),
        plural(shown.subject.ranks().into(), "rank"),
        plural(used.len() as u64, "host")
    )]
}

fn costs(shown: &Shown) -> Vec<String> {
    let found = shown.found;
    let all: Vec<&Known> = [&found.now].into_iter().chain(&found.others).chain([&found.placed]).collect();
    let column = |of: &dyn Fn(&Known) -> String| all.iter().map(|known| of(known)).collect::<Vec<String>>();
    let name = |known: &Known| if std::ptr::eq(known, &found.placed) { "placed".into() } else { known.way.name().to_owned() };
    let columns = [
        Column::texts("", column(&name)),
        Column::numbers("busiest link", column(&|known| link(shown, known))),
        Column::numbers("between hosts", column(&|known| bytes(known.cost.across_bytes))),
        Column::numbers("bytes x distance", column(&|known| relative(known.cost.byte_distance, found.now.cost.byte_distance))),
        Column::numbers("imbalance", column(&|known| format!("{:.0} %", 100.0 * known.cost.imbalance))),
    ];
    let replayed = found.placed.seconds.is_some().then(|| Column::numbers("replayed", column(&|known| time(known.seconds))));
    table(columns.into_iter().chain(replayed))
}

/// What passes the busiest link; in seconds, where links differ.
fn link(shown: &Shown, known: &Known) -> String {
    let busy = known.cost.busiest_link_s;
    match &shown.room.cluster.topology {
        None => bytes((busy * shown.room.cluster.bytes_per_s).round() as u64),
        Some(_) => seconds(busy),
    }
}

fn relative(value: f64, now: f64) -> String {
    if now > 0.0 { format!("{:.1} %", 100.0 * value / now) } else { count(value as u64) }
}

fn time(time: Option<[f64; 3]>) -> String {
    match time {
        Some([low, middle, high]) if low < high => format!("{} [{}, {}]", seconds(middle), seconds(low), seconds(high)),
        Some([_, middle, _]) => seconds(middle),
        None => String::new(),
    }
}

fn verdict(shown: &Shown) -> Vec<String> {
    hanging(&sentence(shown), 0)
}

/// What came of it, in a sentence.
pub fn sentence(shown: &Shown) -> String {
    let found = shown.found;
    if let Some(why) = &found.useless {
        return format!("Placement does not help here: {why}.");
    }
    let on = match (found.basis, &shown.room.machine) {
        (Basis::Replays, Some(machine)) => format!("replayed on {}", machine.about.name),
        (Basis::Distances, _) => "if what MPI takes shrinks as bytes go less far; a replay does not know cores".into(),
        _ if shown.subject.recording.is_none() => "at most, if it did nothing but exchange; a graph does not say".into(),
        (_, Some(_)) => "if what MPI takes shrinks with it; a profile cannot be replayed".into(),
        _ => "if what MPI takes shrinks with it; nothing is known of the network (--machine tells)".into(),
    };
    format!("{} {}: {on}.", aim(shown.arguments.objective), saves(found.gain))
}

fn aim(objective: Objective) -> &'static str {
    match objective {
        Objective::Congestion => "Placed to spare the busiest link, the run",
        Objective::Bytes => "Placed to keep bytes near, the run",
        Objective::Time => "Placed by replayed time, the run",
    }
}

/// The interval in words.
pub fn saves(Gain([low, middle, high]): Gain) -> String {
    // Adding nothing makes a zero of a negative one.
    let percent = |share: f64| format!("{:.1}", (1000.0 * share).round() / 10.0 + 0.0);
    match (percent(low), percent(high)) {
        (low, high) if low == high => format!("takes {low} % less time"),
        (low, high) => format!("takes {} % less time ({low} to {high} %)", percent(middle)),
    }
}

fn measured(shown: &Shown) -> Vec<String> {
    shown.measured.as_ref().map_or_else(Vec::new, apply::lines)
}

/// The ranks of each host, in the order of its slots.
fn hosts(shown: &Shown) -> Vec<String> {
    if shown.found.useless.is_some() && !shown.arguments.force {
        return Vec::new();
    }
    let cluster = &shown.room.cluster;
    let mut ranks: Vec<Vec<(u32, u32)>> = vec![Vec::new(); cluster.hosts.len()];
    for (rank, slot) in (0..).zip(shown.found.placed.placement.slots(cluster)) {
        ranks[slot.host as usize].push((slot.slot, rank));
    }
    let used: Vec<(usize, &mut Vec<(u32, u32)>)> = ranks.iter_mut().enumerate().filter(|(_, ranks)| !ranks.is_empty()).collect();
    let more = used.len().saturating_sub(MOST_HOSTS);
    let mut lines = vec!["Ranks by host, in the order of its slots".to_owned()];
    let width = used.iter().take(MOST_HOSTS).map(|(host, _)| cluster.hosts[*host].name.chars().count()).max().unwrap_or(0);
    for (host, ranks) in used.into_iter().take(MOST_HOSTS) {
        ranks.sort_unstable();
        let list = ranks.iter().map(|(_, rank)| rank.to_string()).collect::<Vec<_>>().join(" ");
        lines.push(crate::text::head(&format!("  {:width$}  {list}", cluster.hosts[host].name), WIDTH));
    }
    if more > 0 {
        lines.push(format!("  … and {more} more; --json and -o have all of them"));
    }
    lines
}
