//! What keeps a schedule from its end, found after it has come to a stop.

use sintonia_formats::goal::Goal;
use sintonia_formats::goal::graph::Kind;

use super::Error;
use super::error::Place;

/// So many operations are told.
const TOLD: usize = 5;

/// Why nothing goes on, when these messages and receives are left.
pub fn why(goal: &Goal, waiting: &[u32]) -> Error {
    let circle = (0..goal.rank_count()).find_map(|rank| circle(goal, rank).map(|circle| (rank, circle)));
    if let Some((rank, circle)) = circle {
        return Error::Circle { rank, circle: circle.into_iter().take(TOLD).map(|operation| place(goal, operation)).collect() };
    }
    let messages = waiting.iter().filter(|operation| goal.operations()[**operation as usize].kind == Kind::Send).count();
    let first = waiting.iter().take(TOLD).map(|operation| place(goal, *operation as usize)).collect();
    Error::Stuck { messages, receives: waiting.len() - messages, first }
}

fn place(goal: &Goal, operation: usize) -> Place {
    let described = &goal.operations()[operation];
    let rank = goal.rank(described);
    let number = operation - goal.of_rank(rank).start;
    let channel = described.channel().map(|channel| goal.channels()[channel]);
    Place { rank, number, kind: described.kind, size: described.size, channel, told: goal.told(rank, number) }
}

/// Operations of a rank of which each waits for the next, and the last for the first.
fn circle(goal: &Goal, rank: usize) -> Option<Vec<usize>> {
    let own = goal.of_rank(rank);
    let needs = own.clone().map(|operation| goal.operations()[operation].needs);
    let mut needs: Vec<u32> = needs.collect();
    let mut free: Vec<usize> = own.clone().filter(|operation| goal.operations()[*operation].needs == 0).collect();
    while let Some(operation) = free.pop() {
        for dependent in goal.dependents(operation) {
            let left = &mut needs[dependent.operation() - own.start];
            *left -= 1;
            if *left == 0 {
                free.push(dependent.operation());
            }
        }
    }
    // Whoever still needs something needs one that still needs something: following them leads into a circle.
    let is_stuck = |operation: usize| needs[operation - own.start] > 0;
    let mut needed = vec![None; own.len()];
    for operation in own.clone().filter(|operation| is_stuck(*operation)) {
        for dependent in goal.dependents(operation) {
            needed[dependent.operation() - own.start] = Some(operation);
        }
    }
    let mut path = Vec::new();
    let mut visited = vec![None; own.len()];
    let mut next = own.clone().find(|operation| is_stuck(*operation))?;
    loop {
        if let Some(begin) = visited[next - own.start].replace(path.len()) {
            return Some(path.split_off(begin));
        }
        path.push(next);
        next = needed[next - own.start]?;
    }
}
