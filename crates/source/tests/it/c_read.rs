//! Lowering of C programs, and errors.

use sintonia_formula::{Formula, SymbolValues};
use sintonia_pamela::model::{LoopOrder, ModelTerm};
use sintonia_source::c;
use sintonia_source::ir::{DataType, ExprKind, IrProgram, ScalarType, StatementKind};

fn read(text: &str) -> IrProgram {
    c::read_text("folder/test.c", text).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    c::read_text("folder/test.c", text).expect_err("not understood").to_string()
}

/// The count of an operation, in a model without messages.
fn operations(term: &ModelTerm, name: &str, of: &str, model: &[sintonia_pamela::model::ProcedureDecl], values: &SymbolValues<f64>) -> f64 {
    let at = |formula: &Formula| formula.evaluate(values).unwrap_or_else(|error| panic!("{formula}: {error}"));
    let inner = |term: &ModelTerm| operations(term, name, of, model, values);
    match term {
        ModelTerm::Operation { operation, times } if operation.name == name && operation.data_type.as_deref() == Some(of) => at(times),
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().map(inner).sum(),
        ModelTerm::Loop { order: LoopOrder::Sequential, index, from, to, body } => (at(from) as i64..=at(to) as i64)
            .map(|round| operations(body, name, of, model, &values.clone().with_value(index, round as f64)))
            .sum(),
        ModelTerm::Call { procedure, arguments } => {
            let called = model.iter().find(|found| found.name == *procedure).expect("a procedure");
            let mut inside = SymbolValues::new();
            called.parameters.iter().zip(arguments).for_each(|(parameter, argument)| inside.set(parameter, at(argument)));
            operations(&called.body, name, of, model, &inside)
        }
        ModelTerm::If { share: Some(share), then, otherwise, .. } => at(share) * inner(then) + (1.0 - at(share)) * inner(otherwise),
        _ => 0.0,
    }
}

fn counted(text: &str, name: &str, of: &str, given: &[(&str, f64)]) -> f64 {
    let model = c::compile_text("test.c", text).unwrap_or_else(|error| panic!("{error}")).model;
    let mut values = SymbolValues::new();
    given.iter().for_each(|(name, value)| values.set(name, *value));
    operations(&model.procedures[0].body, name, of, &model.procedures, &values)
}

#[test]
fn functions_have_their_names_parameters_and_types() {
    let program = read("typedef float real; static double *f(const int n, real x[], size_t m) { return 0; }\nvoid g(void) { }");
    let f = &program.routines[0];
    assert_eq!((f.name.as_str(), f.pos.line, f.parameters.len()), ("f", 1, 3));
    assert_eq!(f.parameters[1].data_type, DataType::Array(Box::new(DataType::Scalar(ScalarType::Float))));
    assert_eq!(f.parameters[2].data_type, DataType::Scalar(ScalarType::Long));
    assert_eq!(f.return_type, Some(DataType::Array(Box::new(DataType::Scalar(ScalarType::Double)))));
    assert_eq!(program.routines[1].return_type, None);
}

#[test]
fn macros_stand_for_what_they_say_at_the_place_of_their_use() {
    let program = read("#define N (4 * 2) /* eight */\n#define TWICE(x) ((x) + (x))\nint f(int a) {\n  return TWICE(a * N);\n}");
    let StatementKind::Return(Some(value)) = &program.routines[0].body[0].kind else { panic!("a return") };
    assert!(matches!(&value.kind, ExprKind::Binary(..)));
    assert_eq!((value.pos.line, value.pos.column), (4, 10));
}

#[test]
fn a_macro_may_stand_for_statements() {
    let text = "#define REPEAT(n) do { for (int i = 0; i < (n); i++) s += 1.5; } while (0)\nint main(void) { double s = 0; REPEAT(6); REPEAT(4); return 0; }";
    assert_eq!(counted(text, "sum", "double", &[]), 10.0);
}

#[test]
fn conditions_of_the_preprocessor_are_decided() {
    let text = |head: &str, line: &str| {
        format!("{head}\nint main(void) {{ double s = 0;\n{line}\ns += 1.0;\n#else\ns += 1.0; s += 1.0;\n#endif\nreturn 0; }}")
    };
    assert_eq!(counted(&text("#define FAST", "#ifdef FAST"), "sum", "double", &[]), 1.0);
    assert_eq!(counted(&text("", "#ifdef FAST"), "sum", "double", &[]), 2.0);
    assert_eq!(counted(&text("#define LEVEL 3", "#if LEVEL > 2 && !defined(FAST)"), "sum", "double", &[]), 1.0);
    assert_eq!(counted(&text("", "#if 0"), "sum", "double", &[]), 2.0);
}

#[test]
fn what_is_not_compiled_may_begin_in_the_middle_of_something() {
    let text = "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint main(void) { double s = 0;\n#if defined(FAST) || LEVEL == 3\nif (s > 1) {\n#else\nfor (int i = 0; i < 5; i++) {\n#endif\ns += 1.0; }\n\
                return 0; }\n#ifdef __cplusplus\n}\n#endif\n";
    assert_eq!(counted(text, "sum", "double", &[]), 5.0);
    assert_eq!(read(text).routines[0].pos.line, 4);
}

#[test]
fn types_decide_which_operations_are_counted() {
    let text = "struct point { float x; double y; };\nint main(void) { struct point p; struct point *q = &p; int i = 1; long l; double d;\n\
                p.x = p.x * 2.0f; q->y = q->y * 2; l = i * 2L; d = i / 2.0; i = i % 7; return 0; }";
    assert_eq!(counted(text, "mpy", "float", &[]), 1.0);
    assert_eq!(counted(text, "mpy", "double", &[]), 1.0);
    assert_eq!(counted(text, "mpy", "long", &[]), 1.0);
    assert_eq!(counted(text, "div", "double", &[]), 1.0);
    assert_eq!(counted(text, "mod", "int", &[]), 1.0);
}

#[test]
fn loops_in_functions_are_counted_with_what_they_are_given() {
    let text = "static double f(double *a, int rows, int n) { double s = 0; for (int i = 0; i < rows; i++) for (int j = i; j < n; j++) s += a[i * n + j]; return s; }\n\
                int main(int argc, char **argv) { int n = atoi(argv[1]); double *a = malloc(n * n * sizeof(double)); f(a, n / 2, n); return 0; }";
    for n in [1.0, 4.0, 9.0] {
        let rows = (n / 2.0_f64).floor();
        let rounds: f64 = (0..rows as i64).map(|i| n - i as f64).sum();
        assert_eq!(counted(text, "sum", "double", &[("n", n)]), rounds, "n = {n}");
    }
}

#[test]
fn a_field_that_is_known_counts_rounds() {
    let text = "typedef struct { int rows, columns; double *now; } Block;\n\
                static void step(Block *b) { for (int i = 1; i <= b->rows; i++) for (int j = 0; j < b->columns; j++) b->now[j] += 1.0; }\n\
                int main(int argc, char **argv) { int n = atoi(argv[1]); Block block = {n, n + 1, NULL}; for (int t = 0; t < 3; t++) step(&block); return 0; }";
    assert_eq!(counted(text, "sum", "double", &[("n", 5.0)]), 3.0 * 5.0 * 6.0);
}

#[test]
fn sizes_of_types_are_those_of_the_machine() {
    let text = |of: &str| {
        format!(
            "struct s {{ char c; double d; int i[3]; }}; int main(void) {{ double s = 0; for (int i = 0; i < sizeof({of}); i++) s += 1.0; return 0; }}"
        )
    };
    for (of, bytes) in [("int", 4.0), ("double[10]", 80.0), ("struct s", 32.0), ("void *", 8.0), ("unsigned char", 1.0)] {
        assert_eq!(counted(&text(of), "sum", "double", &[]), bytes, "{of}");
    }
}

#[test]
fn syntax_errors_name_file_line_column_and_what_was_expected() {
    let message = refused("int main(void) {\n    int i = 1\n    return i;\n}");
    assert!(message.starts_with("folder/test.c:2:14: expected `;`"), "{message}");
    assert!(message.contains("    int i = 1\n"), "{message}");
    assert!(message.ends_with("hint: `mpicc -fsyntax-only folder/test.c` explains it"), "{message}");
    let message = refused("int main(void) {\n    int i = (1 + ;\n    return i;\n}");
    assert!(message.starts_with("folder/test.c:2:"), "{message}");
    assert!(refused("int main(void) { return 0;").contains("`}`"));
}

#[test]
fn what_no_model_can_be_made_of_is_refused_with_a_reason() {
    let message = refused("int main(void) {\n  int i = 0;\nagain:\n  if (i++ < 3) goto again;\n  return 0;\n}");
    assert!(message.starts_with("folder/test.c:4:16: a backward `goto`"), "{message}");
    read("int main(void) { int error = 1; if (error) goto end; error = 2; end: return error; }");
    let error = c::compile_text("test.c", "int f(void) { return 0; }").expect_err("no main").to_string();
    assert!(error.contains("`main`"), "{error}");
}

#[test]
fn a_routine_that_communicates_and_calls_itself_is_refused_with_the_way_round() {
    let text = "#include <mpi.h>\nvoid f(int n) { MPI_Barrier(MPI_COMM_WORLD); if (n > 0) f(n - 1); }\nint main(int argc, char **argv) { f(argc); return 0; }";
    let message = c::compile_text("test.c", text).expect_err("recursion").to_string();
    assert!(message.starts_with("test.c:2:") && message.contains("main -> f -> f"), "{message}");
}

#[test]
fn macros_that_double_each_other_and_deep_nesting_end_with_an_error() {
    let mut text = String::from("#define A0 (1 + 1)\n");
    for level in 1..40 {
        text.push_str(&format!("#define A{level} (A{} + A{})\n", level - 1, level - 1));
    }
    text.push_str("int main(void) { return A39; }");
    assert!(refused(&text).contains("is too large"), "{}", refused(&text));
    let deep = format!("int main(void) {{ return {}1{}; }}", "(".repeat(5000), ")".repeat(5000));
    assert!(refused(&deep).contains("levels deep"));
    let long = format!("int main(void) {{ return {}; }}", vec!["1"; 5000].join(" + "));
    assert!(refused(&long).contains("levels deep"));
}

#[test]
fn types_made_of_types_and_cases_that_fall_through_stay_small() {
    let mut text = String::from("typedef int *t0; typedef int s0[sizeof(int)];\n");
    for level in 1..2000 {
        text.push_str(&format!("typedef t{} *t{level}; typedef s{} s{level}[sizeof(s{})];\n", level - 1, level - 1, level - 1));
    }
    text.push_str("int main(void) { t1999 t; s1999 s; return sizeof(s); }");
    read(&text);
    let cases: String = (0..3000).map(|case| format!("case {case}: n++; ")).collect();
    let message = refused(&format!("int main(void) {{ int n = 0; switch (n) {{ {cases} }} return 0; }}"));
    assert!(message.contains("fallthrough"), "{message}");
}

#[test]
fn macros_from_outside_are_defined_before_the_first_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sized.c");
    let text = "#ifndef N\n#define N 10\n#endif\n#ifdef TWICE\n#define ROUNDS 2\n#else\n#define ROUNDS 1\n#endif\n\
                int main(void) { double a[N], s = 0; for (int k = 0; k < ROUNDS; k++) for (int i = 0; i < N; i++) s += a[i]; return 0; }";
    std::fs::write(&path, text).expect("a file");
    let loads = |definitions: &[&str]| {
        let definitions: Vec<c::MacroDefinition> = definitions.iter().map(|text| text.parse().expect("a definition")).collect();
        let model = c::compile(&[&path], &definitions).unwrap_or_else(|error| panic!("{error}")).model;
        operations(&model.procedures[0].body, "load", "double", &model.procedures, &SymbolValues::new())
    };
    assert_eq!(loads(&[]), 10.0);
    assert_eq!(loads(&["N=400"]), 400.0);
    assert_eq!(loads(&["N=20", "TWICE"]), 40.0);
    assert_eq!(loads(&["N=(4 * 5)", "TWICE="]), 40.0);
}

#[test]
fn mistakes_show_their_line() {
    assert!(refused("int f(void) {\n  again: ;\n  goto again;\n}").contains("    goto again;\n      ^"));
    let recursive = "int f(int n) { MPI_Barrier(MPI_COMM_WORLD); return f(n - 1); }\nint main(void) { return f(3); }";
    let error = c::compile_text("test.c", recursive).expect_err("it calls itself").to_string();
    assert!(error.contains("return f(n - 1); }\n"), "{error}");
}

#[test]
fn a_compound_assignment_is_computed_in_the_wider_type() {
    let text = "int main(void) { int a = 3; double d = 0.5; for (int i = 0; i < 10; i++) a *= d; return 0; }";
    assert_eq!(counted(text, "mpy", "double", &[]), 10.0);
    let text = "int main(void) { double d = 0.5; for (int i = 0; i < 10; i++) d += i; return 0; }";
    assert_eq!((counted(text, "sum", "double", &[]), counted(text, "convert", "double", &[])), (10.0, 10.0));
}

#[test]
fn what_does_not_change_in_a_loop_is_computed_before_it() {
    let inner = |statement: &str| {
        format!(
            "void f(int n, double x, double *a, double *b, double *c, int *at) {{ for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {statement} }}\n\
             int main(int argc, char **argv) {{ int n = atoi(argv[1]); double x, *a, *b, *c; int *at; f(n, x, a, b, c, at); return 0; }}"
        )
    };
    let loads = |statement: &str| counted(&inner(statement), "load", "double", &[("n", 10.0)]);
    assert_eq!(loads("c[j] = a[i] * b[j];"), 100.0 + 10.0, "a[i] is loaded once for all j");
    assert_eq!(loads("c[j] += a[0] * b[j];"), 200.0 + 1.0, "a[0] is loaded once for all");
    assert_eq!(loads("a[j] += a[i];"), 200.0, "a changes");
    assert_eq!(loads("if (j > i) c[j] = a[i];"), 45.0, "only under a condition");
    assert_eq!(loads("{ say(j); c[j] = a[i]; }"), 100.0, "a function may change everything");
    let divisions = |statement: &str| counted(&inner(statement), "div", "double", &[("n", 10.0)]);
    assert_eq!(divisions("c[j] = b[j] * (x / n);"), 1.0);
    assert_eq!(divisions("c[j] = b[j] * (x / i);"), 10.0);
    assert_eq!(divisions("{ x = x / n; c[j] = x; }"), 100.0);
    assert_eq!(counted(&inner("c[at[i]] += b[j];"), "load", "int", &[("n", 10.0)]), 10.0);
}

#[test]
fn the_bound_of_a_loop_is_computed_once_and_still_counts_its_rounds() {
    let text = "int main(int argc, char **argv) { int n = atoi(argv[1]); double s = 0; for (int i = 0; i < n - 1; i++) s += 2; return 0; }";
    assert_eq!(counted(text, "sum", "double", &[("n", 10.0)]), 9.0);
    assert_eq!(counted(text, "sub", "int", &[("n", 10.0)]), 1.0);
}

#[test]
fn a_bound_that_is_not_known_is_called_as_it_is_written() {
    let text = "struct box { int n; }; int main(void) { struct box b; fill(&b); double s = 0; for (int i = 0; i < b.n - 1; i++) s += i; return 0; }";
    let notes = c::compile_text("test.c", text).expect("a model").notes;
    assert!(notes.iter().any(|note| note.text.contains("`b.n - 1`") && note.text.contains("-p trips_test_1=")), "{notes:?}");
}

#[test]
fn a_macro_that_stands_for_nothing_may_have_blanks_behind_it() {
    let program = read("#define EMPTY  \t\n#define GUARD \r\n#ifdef EMPTY\nint f(void) { return 1; }\n#endif\n");
    assert_eq!(program.routines[0].pos.line, 4);
}

#[test]
fn short_functions_cost_no_call_and_leave_loops_like_everything_else() {
    let text = "typedef struct { int columns; double *now, *next; } Block; static int at(const Block *b, int row, int column) { return row * (b->columns + 2) + column; }\n\
                double half(double x) { return x / 2; } double twice(int n) { double s = 0; for (int i = 0; i < n; i++) s += 2; return s; }\n\
                void f(Block *b, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) b->next[at(b, i, j)] = half(0.5); }\n\
                int main(int argc, char **argv) { int n = atoi(argv[1]); Block *b; f(b, n); twice(n); return 0; }";
    assert_eq!(counted(text, "load", "int", &[("n", 10.0)]), 1.0, "the columns stay the same");
    assert_eq!(counted(text, "store", "double", &[("n", 10.0)]), 100.0);
    assert!(!c::compile_text("test.c", text).expect("a model").model.to_text().contains("half("));
}
