//! The graphs of handmade programs.

use sintonia_recording::testing::{RecordingBuilder, TestCall, TestRecording, message};

use super::{FoldedGraph, GraphItem, ProgramGraph, ProgramScope};

/// A call on the world communicator: function, line, peer. It takes 2 ns, and the next starts 8 ns later.
type Call = (&'static str, u32, i32);

/// A recording of ranks that made these calls; ranks without calls leave nothing.
fn recording(ranks: &[Vec<Call>]) -> TestRecording {
    let timed = |(index, (name, line, peer)): (u64, &Call)| -> TestCall {
        message(name, *peer).sent(4).received(4).line(*line).at(10 * index, 10 * index + 2)
    };
    let add = |builder: RecordingBuilder, calls: &Vec<Call>| match calls.is_empty() {
        true => builder.missing_rank(),
        false => builder.rank((0..).zip(calls).map(timed)),
    };
    ranks.iter().fold(RecordingBuilder::new().source("/src/a.c"), add).write()
}

/// A master that repeatedly sends to two workers and receives from them, between barriers of its own and of theirs.
fn farm(rounds: usize) -> Vec<Vec<Call>> {
    let master = [("MPI_Send", 11, 1), ("MPI_Send", 11, 2), ("MPI_Recv", 12, 1), ("MPI_Recv", 12, 2)].repeat(rounds);
    let worker = [("MPI_Recv", 21, 0), ("MPI_Send", 22, 0)].repeat(rounds);
    let whole = |barrier: u32, work: &[Call]| {
        let before = [("MPI_Init", 1, -1), ("MPI_Barrier", barrier, -1)];
        [&before[..], work, &[("MPI_Barrier", 3, -1), ("MPI_Finalize", 4, -1)]].concat()
    };
    vec![whole(10, &master), whole(20, &worker), whole(20, &worker)]
}

fn graph(ranks: &[Vec<Call>]) -> ProgramGraph {
    ProgramGraph::from_recording(&recording(ranks), || ()).unwrap()
}

/// The line of each node.
fn lines(graph: &ProgramGraph) -> Vec<u32> {
    graph.nodes.iter().map(|node| node.site).collect()
}

#[test]
fn a_farm_is_a_master_and_workers_with_their_messages() {
    let graph = graph(&farm(5));
    let roles: Vec<_> = graph.roles.iter().map(|role| (role.name.as_str(), role.ranks.clone())).collect();
    assert_eq!(roles, [("master", vec![0]), ("workers", vec![1, 2])]);
    let line = |node: usize| graph.nodes[node].site;
    let messages: Vec<_> = graph.messages.iter().map(|edge| (line(edge.from.1), line(edge.to.1), edge.messages, edge.bytes)).collect();
    assert_eq!(messages, [(11, 21, 10, 40), (22, 12, 10, 40)]);
    assert_eq!((graph.unmatched_sends, graph.unmatched_receives), (0, 0));
    assert_eq!(graph.collective_sets.iter().map(|set| set.iter().map(|node| line(*node)).collect()).collect::<Vec<Vec<u32>>>(), [[10, 20]]);
}

#[test]
fn its_phases_are_before_the_work_and_after() {
    let graph = graph(&farm(5));
    let names: Vec<_> =
        graph.phases.children(None).map(|phase| (graph.phases.list[phase].name.as_str(), graph.phases.list[phase].repeats)).collect();
    assert_eq!(names, [("main (a.c:1-20)", false), ("main (a.c:11-22)", true), ("main (a.c:3-4)", false)]);
    let (rank, times) = &graph.phases.ranks[1];
    assert_eq!((*rank, times[0].calls, times[0].elapsed_ns), (1, 2, 20), "the way into a loop belongs to what is before it");
    let main: u64 = graph.phases.main_phases().iter().map(|phase| times[*phase].elapsed_ns).sum();
    assert_eq!(main, 10 * 13 + 2);
}

#[test]
fn the_length_of_the_run_shows_in_counts_only() {
    let [short, long] = [10, 3000].map(|rounds| graph(&farm(rounds)));
    assert_eq!((lines(&short), &short.loops, &short.collective_sets), (lines(&long), &long.loops, &long.collective_sets));
    assert_eq!(short.phases.list, long.phases.list);
    let rounds = |graph: &ProgramGraph| {
        graph.roles.iter().flat_map(|role| role.trip_counts.iter().map(|(_, rounds)| rounds.max)).collect::<Vec<_>>()
    };
    assert_eq!((rounds(&short), rounds(&long)), (vec![10, 2, 2, 10], vec![3000, 2, 2, 3000]));
}

#[test]
fn a_walk_visits_the_nodes_of_the_graph() {
    let ranks = farm(5);
    let recording = recording(&ranks);
    let graph = ProgramGraph::from_recording(&recording, || ()).unwrap();
    for role in &graph.roles {
        let mut counts = vec![0; graph.nodes.len()];
        for rank in &role.ranks {
            let (mut along, mut calls) = (graph.node_cursor(*rank), recording.calls(*rank).unwrap());
            while let Some(call) = calls.next_call() {
                counts[along.next_node(&call).unwrap()] += 1;
            }
        }
        let visited: Vec<(usize, u64)> = role.visits.iter().map(|(node, visit)| (*node, visit.calls.count)).collect();
        assert_eq!(counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect::<Vec<_>>(), visited);
    }
}

#[test]
fn ranks_that_take_turns_in_different_order_make_no_loop() {
    let turn = |first: Call, second: Call| vec![("MPI_Init", 1, -1), first, second, ("MPI_Finalize", 4, -1)];
    let ranks = [turn(("MPI_Send", 5, 1), ("MPI_Recv", 6, 1)), turn(("MPI_Recv", 6, 0), ("MPI_Send", 5, 0))];
    assert_eq!(graph(&ranks).loops, []);
}

#[test]
fn what_is_missing_is_counted_and_the_rest_is_drawn() {
    let mut ranks = farm(5);
    ranks[2].clear();
    let graph = graph(&ranks);
    assert_eq!(graph.roles.iter().map(|role| role.ranks.len()).sum::<usize>(), 2);
    assert_eq!((graph.unmatched_sends, graph.unmatched_receives), (5, 5));
}

/// Two ranks that exchange messages in `halo`, called by `step`, and then sum up: 5 times between start and end of `main`.
fn stepping_program() -> ProgramGraph {
    let rank = |peer: i32| {
        let step: [Call; 4] = [("MPI_Send", 30, peer), ("MPI_Recv", 31, peer), ("MPI_Allreduce", 32, -1), ("MPI_Barrier", 50, -1)];
        [vec![("MPI_Init", 1, -1)], step.repeat(5), vec![("MPI_Finalize", 60, -1)]].concat()
    };
    let called = recording(&[rank(1), rank(0)]).with_header(|header| {
        for (site, caller, function, line) in [
            (5, None, "main", 20),
            (6, Some(5), "void step<double>(int)", 7),
            (30, Some(6), "halo(int)", 9),
            (31, Some(6), "halo(int)", 10),
            (32, Some(5), "void step<double>(int)", 8),
            (50, None, "main", 50),
        ] {
            header.sites[site].caller = caller;
            header.sites[site].frames[0].function = Some(function.to_owned());
            header.sites[site].frames[0].line = Some(line);
        }
    });
    ProgramGraph::from_recording(&called, || ()).unwrap()
}

#[test]
fn scopes_are_the_functions_and_loops_of_the_source() {
    let graph = stepping_program();
    let scope = |scope: &ProgramScope| {
        let lines: Vec<u32> = scope.nodes.iter().map(|node| graph.nodes[*node].site).collect();
        (scope.parent, scope.function.clone().unwrap_or_default(), scope.lines.unwrap_or_default(), scope.loops.len(), lines)
    };
    assert_eq!(
        graph.scopes.list.iter().map(scope).collect::<Vec<_>>(),
        [
            (None, "main".to_owned(), (20, 50), 1, vec![30, 31, 32, 50]),
            (Some(0), "step<…>".to_owned(), (7, 8), 0, vec![30, 31, 32]),
            (Some(1), "halo".to_owned(), (9, 10), 0, vec![30, 31]),
        ]
    );
    let depths = [1, 3, 4, 5].map(|items| graph.scopes.fitting_depth(items));
    assert_eq!((depths, graph.scopes.max_depth()), ([1, 1, 2, 3], 4));
}

#[test]
fn a_folded_scope_has_the_sums_of_what_it_contains() {
    let graph = stepping_program();
    let folded = FoldedGraph::at_depth(&graph, 1);
    assert_eq!(folded.items, [GraphItem::Node(0), GraphItem::Scope(0), GraphItem::Node(5)]);
    assert!(folded.messages.is_empty() && folded.open.is_empty());
    let visits = &folded.roles[0].visits[1].1;
    // On each of two ranks 5 times 4 calls of 2 ns, and 8 ns between two of them.
    assert_eq!((visits.calls.count, visits.calls.total_ns, visits.compute_ns, visits.messages), (40, 80, 2 * 19 * 8, 10));
    for depth in 1..=graph.scopes.max_depth() {
        let folded = FoldedGraph::at_depth(&graph, depth);
        let in_items: u64 = folded.roles[0].visits.iter().map(|(_, visits)| visits.elapsed_ns()).sum();
        let between: u64 = folded.roles[0].segments.iter().map(|segment| segment.times.total_ns).sum();
        assert_eq!(in_items + between, 2 * (21 * 10 + 2), "nothing is lost at depth {depth}");
    }
    let open = FoldedGraph::at_depth(&graph, graph.scopes.max_depth());
    assert_eq!((open.items.len(), &open.messages), (graph.nodes.len(), &graph.messages));
}

#[test]
fn a_recording_without_calls_has_an_empty_graph() {
    let graph = graph(&[vec![], vec![]]);
    assert!(graph.nodes.is_empty() && graph.roles.is_empty() && graph.phases.list.is_empty() && graph.phases.main_phases().is_empty());
}
