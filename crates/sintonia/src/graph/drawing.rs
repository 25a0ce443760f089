//! The program graph in the words and symbols that are drawn.

use sintonia_formats::program_graph::{Drawing, Lane, Loop, Message, Node, Path, Stage, Step, Symbol, Work};
use sintonia_insight::Place;
use sintonia_mpi::{Mode, Role as Does};
use sintonia_program::graph::{self, ProgramGraph, Rounds, Segment, Times, Visit, ranges};
use sintonia_recording::Recording;

use crate::text::{bytes, count, plural, seconds};

/// Computation that takes less than this share of a role's time is drawn as an arrow only.
const WORTH_A_BOX: f64 = 0.001;

/// The drawing of a program graph.
pub fn of(graph: &ProgramGraph, recording: &Recording, title: String) -> Drawing {
    let sent: u64 = graph.messages.iter().map(|edge| edge.messages).sum();
    let message = |edge: &graph::MessageEdge| Message {
        from: edge.from,
        to: edge.to,
        note: format!("{} × {}", count(edge.messages), bytes(edge.bytes / edge.messages.max(1))),
        share: edge.messages as f64 / sent.max(1) as f64,
    };
    Drawing {
        title,
        notes: notes(graph),
        nodes: graph.nodes.iter().map(|node| draw_node(node, recording)).collect(),
        lanes: graph.roles.iter().map(|role| lane(role, graph)).collect(),
        messages: graph.messages.iter().map(message).collect(),
        together: graph.together.clone(),
        worth_a_box: WORTH_A_BOX,
    }
}

/// What has to be said of the graph as a whole.
pub fn notes(graph: &ProgramGraph) -> Vec<String> {
    let ranks: usize = graph.roles.iter().map(|role| role.ranks.len()).sum();
    let roles = plural(graph.roles.len() as u64, "role");
    let mut notes = vec![format!("{} in {roles}; counts and times of a role are per rank, on average", plural(ranks as u64, "rank"))];
    for (messages, what) in [(graph.not_received, "sent, but not received"), (graph.not_sent, "received, but not seen to be sent")] {
        if messages > 0 {
            notes.push(format!("{} {what}", plural(messages, "message")));
        }
    }
    notes
}

fn draw_node(node: &graph::Node, recording: &Recording) -> Node {
    let (symbol, stage) = look(node);
    let name = node.operation.name();
    let line = Place::of(recording.site(node.site)).line;
    let short = line.map_or(name.into(), |line| format!("line {line}"));
    Node { symbol, stage, name: name.into(), place: place(node, recording), short }
}

/// Where a node is, and in which function.
pub fn place(node: &graph::Node, recording: &Recording) -> String {
    let place = Place::of(recording.site(node.site));
    match (&place.function, place.line) {
        (Some(function), Some(_)) => format!("{place} {function}"),
        _ => place.to_string(),
    }
}

/// The symbol of an operation; what a completion does is known from what it completed.
pub fn look(node: &graph::Node) -> (Symbol, Stage) {
    let (does, mode, came) = (node.operation.role(), node.operation.function().mode, node.outcome);
    let symbol = match does {
        Does::Send | Does::Put => Symbol::Send,
        Does::Receive | Does::MatchedReceive | Does::Get => Symbol::Receive,
        Does::SendReceive | Does::Exchange => Symbol::Exchange,
        Does::Collective(_) => Symbol::Group,
        _ if came.sends && came.receives => Symbol::Exchange,
        _ if came.sends => Symbol::Send,
        _ if came.receives => Symbol::Receive,
        _ if came.joins => Symbol::Group,
        _ => Symbol::Other,
    };
    let stage = match does {
        Does::Start | Does::StartAll => Stage::Begin,
        Does::CompleteOne | Does::CompleteAll | Does::CompleteAny | Does::CompleteSome => Stage::End,
        _ if mode != Mode::Blocking => Stage::Begin,
        _ => Stage::Whole,
    };
    (symbol, stage)
}

fn lane(role: &graph::Role, graph: &ProgramGraph) -> Lane {
    let share = |times: &Times| times.total_ns as f64 / role.threads_ns.max(1) as f64;
    let ranks = role.ranks.len() as u64;
    let step = |(node, visit): &(usize, Visit)| Step {
        node: *node,
        note: format!("{} · {}", repeated(&visit.calls, ranks), percent(share(&visit.calls))),
        details: visit_details(visit),
    };
    let path = |segment: &Segment| {
        let times = &segment.times;
        let work = Work {
            share: share(times),
            note: format!("{} · {}", percent(share(times)), seconds(times.total_s() / ranks as f64)),
            each: spread(times, ranks),
        };
        Path { from: segment.from, to: segment.to, work: (work.share >= WORTH_A_BOX).then_some(work), details: details(times) }
    };
    let in_lane = |number: usize| graph.loops[number].nodes.iter().copied().filter(|node| visits(role, *node)).collect();
    let went_round = role.rounds.iter().filter(|(_, rounds)| rounds.most > 1);
    Lane {
        name: role.name.clone(),
        note: ranks_of(role),
        steps: role.visits.iter().map(step).collect(),
        paths: role.segments.iter().map(path).collect(),
        loops: went_round.map(|(number, rounds)| Loop { nodes: in_lane(*number), note: rounds_note(rounds, ranks) }).collect(),
    }
}

fn visits(role: &graph::Role, node: usize) -> bool {
    role.visits.binary_search_by_key(&node, |(node, _)| *node).is_ok()
}

/// The ranks of a role, as far as its name does not say it.
pub fn ranks_of(role: &graph::Role) -> String {
    let (number, named) = (role.ranks.len() as u64, role.name.starts_with("rank"));
    match number {
        1 if named => String::new(),
        1 => format!("rank {}", role.ranks[0]),
        _ if named => plural(number, "rank"),
        _ => format!("{}: {}", plural(number, "rank"), ranges(&role.ranks)),
    }
}

/// How often something happened on each rank, and how long it took on average.
fn repeated(times: &Times, ranks: u64) -> String {
    format!("{} × {}", per_rank(times.count, ranks), seconds(times.mean_s()))
}

fn spread(times: &Times, ranks: u64) -> String {
    let around = if times.count > 1 { format!(" ± {}", seconds(times.deviation_s())) } else { String::new() };
    repeated(times, ranks) + around.as_str()
}

/// How often something happened on each rank, on average.
pub fn per_rank(number: u64, ranks: u64) -> String {
    let ranks = ranks.max(1);
    let mean = number as f64 / ranks as f64;
    if number.is_multiple_of(ranks) || mean >= 100.0 { count(mean.round() as u64) } else { format!("{mean:.1}") }
}

/// How often a loop goes round.
pub fn rounds_note(rounds: &Rounds, ranks: u64) -> String {
    let round = if rounds.least == rounds.most {
        format!("× {}", count(rounds.most))
    } else {
        format!("× {} to {}, mean {:.1}", count(rounds.least), count(rounds.most), rounds.mean())
    };
    if rounds.entries > ranks { format!("{round}, entered {} times", per_rank(rounds.entries, ranks)) } else { round }
}

/// A share in percent, with a digit more where it is small.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        percent if percent < 0.1 => "<0.1 %".into(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

fn details(times: &Times) -> String {
    let [total, mean, deviation] = [times.total_s(), times.mean_s(), times.deviation_s()].map(seconds);
    let [least, most] = [times.least_s(), times.most_s()].map(seconds);
    format!("{} times on all ranks, {total} in all, each {mean} ± {deviation}, from {least} to {most}", count(times.count))
}

fn visit_details(visit: &Visit) -> String {
    let mut lines = vec![details(&visit.calls)];
    for (number, what) in [(visit.sent, "sent"), (visit.received, "received")] {
        if number > 0 {
            lines.push(format!("{} {what}", bytes(number)));
        }
    }
    for (number, what) in [(visit.in_vain, "found nothing"), (visit.nobody, "with MPI_PROC_NULL")] {
        if number > 0 {
            lines.push(format!("{} {what}", plural(number, "call")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;
    use sintonia_program::graph::Outcome;

    #[test]
    fn a_wait_looks_like_what_it_completed() {
        let look = |name: &str, outcome| look(&graph::Node { operation: Operation::named(name).unwrap(), site: 0, outcome });
        let none = Outcome::default();
        assert_eq!(look("MPI_Send", none), (Symbol::Send, Stage::Whole));
        assert_eq!(look("MPI_Irecv", none), (Symbol::Receive, Stage::Begin));
        assert_eq!(look("MPI_Waitall", Outcome { sends: true, receives: true, ..none }), (Symbol::Exchange, Stage::End));
        assert_eq!(look("MPI_Wait", Outcome { joins: true, ..none }), (Symbol::Group, Stage::End));
        assert_eq!(look("MPI_Start", Outcome { sends: true, ..none }), (Symbol::Send, Stage::Begin));
        assert_eq!(look("MPI_Comm_free", none), (Symbol::Other, Stage::Whole));
    }

    #[test]
    fn ranks_are_not_said_twice() {
        let said =
            |name: &str, ranks: &[u32]| ranks_of(&graph::Role { name: name.into(), ranks: ranks.to_vec(), ..graph::Role::default() });
        assert_eq!([said("master", &[0]), said("workers", &[1, 2, 3])], ["rank 0", "3 ranks: 1-3"]);
        assert_eq!([said("rank 4", &[4]), said("ranks 1-2", &[1, 2])], ["", "2 ranks"]);
    }

    #[test]
    fn rounds_say_how_much_they_differ() {
        assert_eq!(rounds_note(&Rounds { entries: 4, total: 2000, least: 500, most: 500 }, 4), "× 500");
        assert_eq!(rounds_note(&Rounds { entries: 40, total: 100, least: 2, most: 3 }, 4), "× 2 to 3, mean 2.5, entered 10 times");
    }

    #[test]
    fn what_some_ranks_do_is_not_shown_as_nothing() {
        assert_eq!([(6, 3), (1, 3), (1000, 3)].map(|(number, ranks)| per_rank(number, ranks)), ["2", "0.3", "333"]);
    }

    #[test]
    fn small_shares_are_told_apart() {
        assert_eq!([0.0, 0.0001, 0.012, 0.5].map(percent), ["0 %", "<0.1 %", "1.2 %", "50 %"]);
    }
}
