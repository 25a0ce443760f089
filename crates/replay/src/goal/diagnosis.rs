//! Diagnosis of a schedule that did not complete.

use sintonia_formats::goal::GoalSchedule;
use sintonia_formats::goal::graph::GoalOpKind;

use super::GoalError;
use super::GoalOperationRef;

/// Maximum number of operations in a message.
const MAX_LISTED: usize = 5;

/// Explains why these messages and receives are unmatched.
pub(super) fn diagnose(goal: &GoalSchedule, unmatched: &[u32]) -> GoalError {
    let circle = (0..goal.rank_count()).find_map(|rank| find_cycle(goal, rank).map(|circle| (rank, circle)));
    if let Some((rank, circle)) = circle {
        return GoalError::DependencyCycle {
            rank,
            circle: circle.into_iter().take(MAX_LISTED).map(|operation| operation_ref(goal, operation)).collect(),
        };
    }
    let messages = unmatched.iter().filter(|operation| goal.operations()[**operation as usize].kind == GoalOpKind::Send).count();
    let first = unmatched.iter().take(MAX_LISTED).map(|operation| operation_ref(goal, *operation as usize)).collect();
    GoalError::Unmatched { messages, receives: unmatched.len() - messages, first }
}

fn operation_ref(goal: &GoalSchedule, operation: usize) -> GoalOperationRef {
    let described = &goal.operations()[operation];
    let rank = goal.rank_of(described);
    let number = operation - goal.rank_operations(rank).start;
    let channel = described.channel().map(|channel| goal.channels()[channel]);
    GoalOperationRef { rank, number, kind: described.kind, size: described.size, channel, source_line: goal.source_line(rank, number) }
}

/// A dependency cycle within a rank.
fn find_cycle(goal: &GoalSchedule, rank: usize) -> Option<Vec<usize>> {
    let own = goal.rank_operations(rank);
    let needs = own.clone().map(|operation| goal.operations()[operation].dependency_count);
    let mut needs: Vec<u32> = needs.collect();
    let mut free: Vec<usize> = own.clone().filter(|operation| goal.operations()[*operation].dependency_count == 0).collect();
    while let Some(operation) = free.pop() {
        for dependent in goal.dependents(operation) {
            let remaining = &mut needs[dependent.operation() - own.start];
            *remaining -= 1;
            if *remaining == 0 {
                free.push(dependent.operation());
            }
        }
    }
    // Every blocked operation depends on a blocked one, so following them leads into a cycle.
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
