//! The messages that models of C programs have, counted by going through every loop, against what runs of the programs showed.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Values};
use sintonia_machine::Named;
use sintonia_pamela::model::{Model, Term};
use sintonia_source::c;

/// What is sent in a run.
#[derive(Debug, Default, Clone, PartialEq)]
struct Traffic {
    messages: f64,
    bytes: f64,
    /// How often each operation of a group is done, and its bytes together.
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

fn at(formula: &Formula, values: &Values<f64>) -> f64 {
    formula.evaluate(values).unwrap_or_else(|error| panic!("{formula}: {error}"))
}

fn traffic(term: &Term, values: &Values<f64>) -> Traffic {
    let mut all = Traffic::default();
    match term {
        Term::Message { bytes, .. } => {
            all.messages = 1.0;
            all.bytes = at(bytes, values);
        }
        Term::Group { operation, bytes, .. } => drop(all.groups.insert(operation.name(), (1.0, at(bytes, values)))),
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter().for_each(|term| all.add(&traffic(term, values), 1.0)),
        Term::Loop { index, from, to, body, .. } => {
            let (from, to) = (at(from, values) as i64, at(to, values) as i64);
            for round in from..=to {
                all.add(&traffic(body, &values.clone().with(index, round as f64)), 1.0);
            }
        }
        Term::If { share, then, otherwise, .. } => {
            let share = share.as_ref().map_or(0.5, |share| at(share, values));
            all.add(&traffic(then, values), share);
            all.add(&traffic(otherwise, values), 1.0 - share);
        }
        Term::Use { body, .. } => return traffic(body, values),
        Term::Note(_) | Term::Operation { .. } | Term::Delay(_) | Term::Call { .. } | Term::Tasks { .. } => {}
    }
    all
}

/// What a model sends with so many processes and these parameters.
fn sent(model: &Model, processes: u32, given: &[(&str, f64)]) -> Traffic {
    let mut values = Values::new().with("p", f64::from(processes));
    for parameter in &model.parameters {
        let value = given.iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
        let value = value.or_else(|| parameter.value.as_ref().map(|formula| at(formula, &values)));
        values.set(&parameter.name, value.unwrap_or_else(|| panic!("nobody says what {} is", parameter.name)));
    }
    traffic(&model.procedures[0].body, &values)
}

fn model(text: &str) -> Model {
    c::compile_text("test.c", text).unwrap_or_else(|error| panic!("{error}")).model
}

fn in_main(statements: &str) -> String {
    format!(
        "#include <mpi.h>\nint main(int argc, char **argv) {{ int rank, size; double a[100]; int n = atoi(argv[1]);\n\
         MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n{statements}\nMPI_Finalize(); return 0; }}"
    )
}

/// Messages and bytes between pairs of processes, as `sintonia report --json` showed them of runs with Open MPI.
#[test]
fn the_papers_matrix_product_sends_what_its_runs_sent() {
    let model = model(include_str!("../../../apps/matmul.c"));
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
    let model = model(include_str!("../../../apps/stencil.c"));
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
    let Term::Sequence(phases) = &model.procedures[0].body else { panic!("{:?}", model.procedures[0].body) };
    let loops = phases.iter().filter(|phase| matches!(phase, Term::Loop { .. })).count();
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
    // Two thirds have somebody below them, and all have somebody beside them, since rows are closed.
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
    assert!(compiled.notes.iter().any(|note| note.place.line == 4 && note.text.contains("-p count=")), "{:?}", compiled.notes);
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
