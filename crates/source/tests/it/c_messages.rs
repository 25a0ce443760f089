//! The messages of models of C programs, counted by executing every loop, compared with actual runs.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, SymbolValues};
use sintonia_machine::Named;
use sintonia_pamela::model::{ModelTerm, PamelaModel};
use sintonia_source::c;

/// The communication of a run.
#[derive(Debug, Default, Clone, PartialEq)]
struct Traffic {
    messages: f64,
    bytes: f64,
    /// The count and total size of each collective.
    groups: BTreeMap<&'static str, (f64, f64)>,
}

impl Traffic {
    fn add(&mut self, other: &Traffic, times: f64) {
        self.messages += times * other.messages;
        self.bytes += times * other.bytes;
        for (name, (count, bytes)) in &other.groups {
            let entry = self.groups.entry(name).or_default();
            entry.0 += times * count;
            entry.1 += times * bytes;
        }
    }
}

fn at(formula: &Formula, values: &SymbolValues<f64>) -> f64 {
    formula.evaluate(values).unwrap_or_else(|error| panic!("{formula}: {error}"))
}

fn traffic(term: &ModelTerm, values: &SymbolValues<f64>) -> Traffic {
    let mut all = Traffic::default();
    match term {
        ModelTerm::Message { bytes, .. } => {
            all.messages = 1.0;
            all.bytes = at(bytes, values);
        }
        ModelTerm::Collective { operation, bytes, .. } => drop(all.groups.insert(operation.name(), (1.0, at(bytes, values)))),
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().for_each(|term| all.add(&traffic(term, values), 1.0)),
        ModelTerm::Loop { index, from, to, body, .. } => {
            let (from, to) = (at(from, values) as i64, at(to, values) as i64);
            for round in from..=to {
                all.add(&traffic(body, &values.clone().with_value(index, round as f64)), 1.0);
            }
        }
        ModelTerm::If { share, then, otherwise, .. } => {
            let share = share.as_ref().map_or(0.5, |share| at(share, values));
            all.add(&traffic(then, values), share);
            all.add(&traffic(otherwise, values), 1.0 - share);
        }
        ModelTerm::Use { body, .. } => return traffic(body, values),
        ModelTerm::Comment(_) | ModelTerm::Operation { .. } | ModelTerm::Delay(_) | ModelTerm::Call { .. } | ModelTerm::Tasks { .. } => {}
    }
    all
}

/// The communication of a model with these parameters.
fn sent(model: &PamelaModel, processes: u32, given: &[(&str, f64)]) -> Traffic {
    let mut values = SymbolValues::new().with_value("p", f64::from(processes));
    for parameter in &model.parameters {
        let value = given.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
        let value = value.or_else(|| parameter.value.as_ref().map(|formula| at(formula, &values)));
        values.set(&parameter.name, value.unwrap_or_else(|| panic!("nobody says what {} is", parameter.name)));
    }
    traffic(&model.procedures[0].body, &values)
}

fn model(text: &str) -> PamelaModel {
    c::compile_text("test.c", text).unwrap_or_else(|error| panic!("{error}")).model
}

fn in_main(statements: &str) -> String {
    format!(
        "#include <mpi.h>\nint main(int argc, char **argv) {{ int rank, size; double a[100]; int n = atoi(argv[1]);\n\
         MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n{statements}\nMPI_Finalize(); return 0; }}"
    )
}

/// Messages and bytes between pairs of processes, as reported by `sintonia report --json` for runs with Open MPI.
#[test]
fn the_papers_matrix_product_sends_what_its_runs_sent() {
    let model = model(include_str!("../../../../apps/matmul.c"));
    for (processes, n, messages, bytes) in
        [(2, 50.0, 2.0, 40_000.0), (3, 50.0, 4.0, 40_000.0), (4, 101.0, 6.0, 163_216.0), (7, 40.0, 12.0, 25_600.0)]
    {
        let sent = sent(&model, processes, &[("n", n)]);
        assert_eq!((sent.messages, sent.bytes), (messages, bytes), "{processes} processes, n = {n}");
        assert_eq!(sent.groups, BTreeMap::from([("bcast", (1.0, 8.0 * n * n))]));
    }
}

#[test]
fn the_stencil_sends_what_its_runs_sent() {
    let model = model(include_str!("../../../../apps/stencil.c"));
    let runs =
        [(1, 16.0, 20.0, 0.0, 0.0), (2, 16.0, 20.0, 40.0, 5_120.0), (4, 17.0, 30.0, 240.0, 16_320.0), (6, 18.0, 9.0, 126.0, 7_776.0)];
    for (processes, n, steps, messages, bytes) in runs {
        let sent = sent(&model, processes, &[("n", n), ("steps", steps)]);
        assert_eq!((sent.messages, sent.bytes), (messages, bytes), "{processes} processes, n = {n}");
        let agreements = (steps / 10.0_f64).floor();
        assert_eq!(sent.groups, BTreeMap::from([("allreduce", (agreements, 8.0 * agreements))]), "{processes} processes, n = {n}");
    }
}

#[test]
fn a_master_that_deals_and_gathers_meets_every_worker_once() {
    let text = in_main(
        "if (rank == 0) { for (int w = 1; w < size; w++) MPI_Send(a, n, MPI_DOUBLE, w, 0, MPI_COMM_WORLD);\n\
         for (int w = 1; w < size; w++) MPI_Recv(a, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }\n\
         else { MPI_Recv(a, n, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); for (int i = 0; i < n; i++) a[0] += a[i];\n\
         MPI_Send(a, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD); }",
    );
    let model = model(&text);
    let ModelTerm::Sequence(phases) = &model.procedures[0].body else { panic!("{:?}", model.procedures[0].body) };
    let loops = phases.iter().filter(|phase| matches!(phase, ModelTerm::Loop { .. })).count();
    assert_eq!(loops, 3, "deal, compute, gather: {phases:#?}");
    assert_eq!(sent(&model, 5, &[("n", 10.0)]), Traffic { messages: 8.0, bytes: 4.0 * 80.0 + 4.0 * 8.0, groups: BTreeMap::new() });
}

#[test]
fn a_master_that_leaves_itself_out_of_its_loop_meets_every_worker_once() {
    let text = in_main(
        "if (rank == 0) { for (int i = 0; i < size; i++) if (i != rank) MPI_Send(a, n, MPI_INT, i, 0, MPI_COMM_WORLD); }\n\
         else MPI_Recv(a, n, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    );
    let model = model(&text);
    assert_eq!(sent(&model, 5, &[("n", 10.0)]), Traffic { messages: 4.0, bytes: 160.0, groups: BTreeMap::new() });
    assert!(!format!("{:?}", model.procedures[0].body).contains("neighbour"), "both ends are known");
}

#[test]
fn a_ping_pong_is_matched_inside_its_loop() {
    let text = in_main(
        "for (int i = 0; i < n; i++) if (rank == 0) { MPI_Send(a, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);\n\
         MPI_Recv(a, 10, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); } else if (rank == 1) {\n\
         MPI_Recv(a, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Send(a, 10, MPI_INT, 0, 0, MPI_COMM_WORLD); }",
    );
    let model = model(&text);
    assert_eq!(sent(&model, 2, &[("n", 7.0)]), Traffic { messages: 14.0, bytes: 14.0 * 40.0, groups: BTreeMap::new() });
    assert!(!format!("{:?}", model.procedures[0].body).contains("neighbour"), "both ends are known");
}

#[test]
fn neighbours_in_a_row_end_at_its_ends() {
    for condition in ["rank > 0", "rank", "rank >= 1", "0 < rank", "!(rank == 0)"] {
        let text = in_main(&format!(
            "if ({condition}) MPI_Send(a, n, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD);\n\
             if (rank < size - 1) MPI_Recv(a, n, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
        ));
        let sent = sent(&model(&text), 6, &[("n", 3.0)]);
        assert_eq!(sent, Traffic { messages: 5.0, bytes: 5.0 * 24.0, groups: BTreeMap::new() }, "{condition}");
    }
}

#[test]
fn a_neighbour_that_may_be_nobody_gets_nothing_where_there_is_none() {
    let text = in_main(
        "int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;\n\
         MPI_Sendrecv(a, n, MPI_FLOAT, left, 0, a, n, MPI_FLOAT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    );
    assert_eq!(sent(&model(&text), 6, &[("n", 3.0)]), Traffic { messages: 5.0, bytes: 5.0 * 12.0, groups: BTreeMap::new() });
}

#[test]
fn a_grid_whose_dimensions_are_gone_through_in_a_loop_ends_at_its_border() {
    let text = in_main(
        "int dims[2] = {3, 3}, periods[2] = {0, 1}, low, high; MPI_Comm grid; MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);\n\
         for (int d = 0; d < 2; d++) { MPI_Cart_shift(grid, d, 1, &low, &high);\n\
         MPI_Sendrecv(a, n, MPI_INT, high, 0, a, n, MPI_INT, low, 0, grid, MPI_STATUS_IGNORE); }",
    );
    // Two thirds have a lower neighbour, and all have a neighbour in the periodic dimension.
    assert_eq!(sent(&model(&text), 9, &[("n", 1.0)]), Traffic { messages: 15.0, bytes: 60.0, groups: BTreeMap::new() });
}

#[test]
fn parts_that_differ_by_one_stay_formulas_of_the_rank() {
    let text = in_main(
        "int rows = n / size; if (rank < n % size) rows++;\n\
         MPI_Send(a, rows, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD); MPI_Recv(a, n, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    );
    let model = model(&text);
    for (processes, n) in [(1, 5.0), (3, 11.0), (4, 11.0), (5, 3.0)] {
        assert_eq!(sent(&model, processes, &[("n", n)]).bytes, 8.0 * n, "{processes} processes, n = {n}");
    }
}

#[test]
fn operations_of_groups_are_joints_of_all_roles() {
    let text = in_main(
        "if (rank == 0) { for (int i = 0; i < n; i++) a[i] = i; MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD); }\n\
         else { MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD); }\n\
         for (int k = 0; k < 3; k++) { MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (k % 2 == 0) MPI_Barrier(MPI_COMM_WORLD); }",
    );
    let sent = sent(&model(&text), 4, &[("n", 10.0)]);
    assert_eq!(sent.groups, BTreeMap::from([("bcast", (1.0, 80.0)), ("allreduce", (3.0, 24.0)), ("barrier", (2.0, 0.0))]));
    assert_eq!(sent.messages, 0.0);
}

#[test]
fn a_token_that_goes_round_goes_from_one_to_the_next() {
    let text = in_main(
        "if (rank != 0) MPI_Recv(a, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
         MPI_Send(a, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);\n\
         if (rank == 0) MPI_Recv(a, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
    );
    let model = model(&text);
    assert_eq!(sent(&model, 6, &[("n", 0.0)]).messages, 6.0);
    assert!(!format!("{:?}", model.procedures[0].body).contains("Parallel"), "{:#?}", model.procedures[0].body);
}

#[test]
fn what_cannot_be_derived_is_a_parameter_with_a_note() {
    let text = in_main(
        "int count; MPI_Recv(&count, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Send(a, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);",
    );
    let compiled = c::compile_text("test.c", &text).expect("a model");
    assert!(compiled.model.parameters.iter().any(|parameter| parameter.name == "count" && parameter.value.is_none()));
    assert!(compiled.notes.iter().any(|note| note.pos.line == 4 && note.text.contains("-p count=")), "{:?}", compiled.notes);
}

#[test]
fn the_command_line_gives_parameters_with_the_values_they_have_otherwise() {
    for text in [
        "int n = argc > 1 ? atoi(argv[1]) : 400;",
        "int n = 400; if (argc > 1) n = atoi(argv[1]);",
        "int n = argc < 2 ? 400 : (int)strtol(argv[1], NULL, 10);",
    ] {
        let text = format!("int main(int argc, char **argv) {{ {text} double s = 0; for (int i = 0; i < n; i++) s += i; return 0; }}");
        let model = model(&text);
        let n = model.parameters.iter().find(|parameter| parameter.name == "n").expect("a parameter");
        assert_eq!(n.value, Some(Formula::integer(400)));
    }
}

#[test]
fn derived_datatypes_have_the_bytes_of_what_they_are_made_of() {
    let text = in_main(
        "MPI_Datatype row, column; MPI_Type_contiguous(n, MPI_DOUBLE, &row); MPI_Type_vector(n, 2, 10, MPI_INT, &column);\n\
         MPI_Type_commit(&row); MPI_Send(a, 3, row, (rank + 1) % size, 0, MPI_COMM_WORLD); MPI_Send(a, 1, column, (rank + 1) % size, 0, MPI_COMM_WORLD);",
    );
    assert_eq!(sent(&model(&text), 2, &[("n", 5.0)]).bytes, 2.0 * (3.0 * 40.0 + 40.0));
}

#[test]
fn persistent_requests_send_each_time_they_are_started() {
    let text = in_main(
        "MPI_Request r[2]; int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;\n\
         MPI_Recv_init(a, n, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &r[0]); MPI_Send_init(a, n, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &r[1]);\n\
         for (int step = 0; step < 10; step++) { MPI_Startall(2, r); MPI_Waitall(2, r, MPI_STATUSES_IGNORE); }\n\
         MPI_Start(&r[1]); MPI_Start(&r[0]); MPI_Wait(&r[1], MPI_STATUS_IGNORE);",
    );
    let compiled = c::compile_text("test.c", &text).expect("a model");
    assert!(compiled.notes.is_empty(), "{:?}", compiled.notes);
    assert_eq!(sent(&compiled.model, 4, &[("n", 5.0)]), Traffic { messages: 33.0, bytes: 33.0 * 40.0, groups: BTreeMap::new() });
}

#[test]
fn persistent_requests_of_a_master_meet_those_of_its_worker() {
    let text = in_main(
        "MPI_Request r; if (rank == 0) { MPI_Send_init(a, n, MPI_INT, 1, 0, MPI_COMM_WORLD, &r);\n\
         for (int i = 0; i < 8; i++) { MPI_Start(&r); MPI_Wait(&r, MPI_STATUS_IGNORE); } } else if (rank == 1) {\n\
         for (int i = 0; i < 8; i++) MPI_Recv(a, n, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }",
    );
    let model = model(&text);
    assert_eq!(sent(&model, 2, &[("n", 7.0)]), Traffic { messages: 8.0, bytes: 8.0 * 28.0, groups: BTreeMap::new() });
    assert!(!format!("{:?}", model.procedures[0].body).contains("neighbour"), "both ends are known");
}

#[test]
fn a_partitioned_message_has_the_bytes_of_all_its_parts() {
    let text = in_main(
        "MPI_Request r; MPI_Psend_init(a, 4, n, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);\n\
         MPI_Start(&r); for (int part = 0; part < 4; part++) MPI_Pready(part, r); MPI_Wait(&r, MPI_STATUS_IGNORE);",
    );
    assert_eq!(sent(&model(&text), 3, &[("n", 5.0)]), Traffic { messages: 3.0, bytes: 3.0 * 80.0, groups: BTreeMap::new() });
}

#[test]
fn a_request_that_nobody_knows_is_told_at_the_place_where_it_starts() {
    let text = in_main("MPI_Request r; make(&r);\nMPI_Start(&r); MPI_Startall(n, &r);");
    let notes = c::compile_text("test.c", &text).expect("a model").notes;
    for expected in ["the message started here is unknown", "the number of requests started here is unknown"] {
        assert!(notes.iter().any(|note| note.pos.line == 5 && note.text.contains(expected)), "{notes:?}");
    }
}

#[test]
fn one_sided_communication_is_counted_by_who_does_it() {
    let text = in_main(
        "MPI_Win w; MPI_Win_create(a, 800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &w); MPI_Win_fence(0, w);\n\
         if (rank > 0) MPI_Put(a, n, MPI_DOUBLE, rank - 1, 0, n, MPI_DOUBLE, w);\n\
         MPI_Get(a, 2, MPI_INT, 0, 0, 2, MPI_INT, w); MPI_Accumulate(a, n, MPI_FLOAT, 0, 0, n, MPI_FLOAT, MPI_SUM, w);\n\
         MPI_Fetch_and_op(a, a, MPI_LONG, 0, 0, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Win_free(&w);",
    );
    let compiled = c::compile_text("test.c", &text).expect("a model");
    assert!(
        compiled.model.parameters.iter().all(|parameter| parameter.name == "n"),
        "the window knows its processes: {:?}",
        compiled.notes
    );
    let sent = sent(&compiled.model, 4, &[("n", 5.0)]);
    let (put, got, added, fetched) = (3.0 * 40.0, 4.0 * 8.0, 4.0 * 20.0, 8.0 * 8.0);
    assert_eq!((sent.messages, sent.bytes), (3.0 + 4.0 + 4.0 + 8.0, put + got + added + fetched));
    assert_eq!(sent.groups, BTreeMap::from([("barrier", (2.0, 0.0))]));
}

/// The numbers of processes of the collectives in a model.
fn members(model: &PamelaModel, processes: f64, given: &[(&str, f64)]) -> Vec<f64> {
    fn all<'m>(term: &'m ModelTerm, into: &mut Vec<&'m Formula>) {
        match term {
            ModelTerm::Collective { processes, .. } => into.push(processes),
            ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().for_each(|term| all(term, into)),
            ModelTerm::Loop { body, .. } => all(body, into),
            _ => {}
        }
    }
    let mut found = Vec::new();
    all(&model.procedures[0].body, &mut found);
    let values = given.iter().fold(SymbolValues::new().with_value("p", processes), |values, (name, value)| values.with_value(name, *value));
    found.into_iter().map(|formula| at(formula, &values)).collect()
}

#[test]
fn communicators_that_are_split_by_division_have_a_known_size() {
    for (color, sizes) in [
        ("rank / 4", [4.0, 3.0, 4.0]),
        ("rank % 4", [2.0, 1.0, 3.0]),
        ("rank / n", [5.0, 3.0, 5.0]),
        ("rank % n", [2.0, 1.0, 2.0]),
        ("0", [8.0, 3.0, 9.0]),
    ] {
        let text = in_main(&format!(
            "MPI_Comm row; int mine, all; MPI_Comm_split(MPI_COMM_WORLD, {color}, rank, &row); MPI_Comm_rank(row, &mine); MPI_Comm_size(row, &all);\n\
             MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, row); if (mine + 1 < all) MPI_Send(a, n, MPI_INT, mine + 1, 0, row);"
        ));
        let model = model(&text);
        for (processes, size) in [8, 3, 9].into_iter().zip(sizes) {
            assert_eq!(members(&model, f64::from(processes), &[("n", 5.0)]), [size], "{color}, {processes} processes");
        }
        // Of each row, all but the last send.
        let rows = |processes: f64| match color {
            "rank / 4" => (processes / 4.0_f64).ceil(),
            "rank % 4" => processes.min(4.0),
            "rank / n" => (processes / 5.0_f64).ceil(),
            "rank % n" => processes.min(5.0),
            _ => 1.0,
        };
        for processes in [3_u32, 8, 9] {
            let expected = f64::from(processes) - rows(f64::from(processes));
            assert_eq!(sent(&model, processes, &[("n", 5.0)]).messages, expected, "{color}, {processes} processes");
        }
    }
}

#[test]
fn communicators_that_cannot_be_derived_have_a_parameter_for_their_size() {
    let text = in_main(
        "MPI_Comm near; MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);\n\
         MPI_Bcast(a, n, MPI_INT, 0, near); MPI_Send(a, n, MPI_INT, 0, 0, near);",
    );
    let compiled = c::compile_text("test.c", &text).expect("a model");
    assert!(compiled.notes.iter().any(|note| note.pos.line == 4 && note.text.contains("-p processes_near=")), "{:?}", compiled.notes);
    assert_eq!(members(&compiled.model, 6.0, &[("n", 5.0), ("processes_near", 2.0)]), [2.0]);
    assert_eq!(sent(&compiled.model, 6, &[("n", 5.0)]).messages, 6.0);
}

#[test]
fn a_part_of_a_grid_has_the_processes_of_its_dimensions() {
    let text = in_main(
        "int dims[2] = {3, 4}, periods[2] = {0, 0}, kept[2] = {0, 1}, low, high; MPI_Comm grid, row;\n\
         MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid); MPI_Cart_sub(grid, kept, &row);\n\
         MPI_Barrier(row); MPI_Cart_shift(row, 0, 1, &low, &high); MPI_Send(a, n, MPI_INT, high, 0, row);",
    );
    let model = model(&text);
    assert_eq!(members(&model, 12.0, &[]), [4.0]);
    assert_eq!(sent(&model, 12, &[("n", 1.0)]).messages, 9.0);
}

#[test]
fn what_is_received_needs_no_size() {
    let text = in_main("int most = room(); MPI_Recv(a, most, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);");
    assert!(model(&text).parameters.iter().all(|parameter| parameter.name != "most"));
}

#[test]
fn calls_with_large_counts_are_those_without() {
    let text = in_main(
        "MPI_Send_c(a, (MPI_Count)n, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD); MPI_Bcast_c(a, n, MPI_INT, 0, MPI_COMM_WORLD);",
    );
    let sent = sent(&model(&text), 3, &[("n", 5.0)]);
    assert_eq!((sent.messages, sent.bytes), (3.0, 60.0));
    assert_eq!(sent.groups, BTreeMap::from([("bcast", (1.0, 20.0))]));
}
