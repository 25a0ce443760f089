//! The text format: parsing, printing and diagnostics.

use std::path::Path;

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;
use sintonia_pamela::model::{
    ComputeOp, Computer, LoopOrder, ModelParameter, ModelTerm, PamelaModel, ProcedureDecl, ResourceDecl, SourceLanguage,
};
use sintonia_pamela::text::{Error, ModelDiagnostic};

fn read(text: &str) -> PamelaModel {
    PamelaModel::parse(text, "a.pam").unwrap_or_else(|error| panic!("{error}"))
}

/// The body of a procedure with this text.
fn body(text: &str) -> ModelTerm {
    read(&format!("parameter n = 8; resource disk; main {{ {text} }} work(i, w) {{ delay(i); access_w }}")).procedures[0].body.clone()
}

fn mistakes(text: &str) -> Vec<ModelDiagnostic> {
    PamelaModel::parse(text, "a.pam").expect_err(text).diagnostics().to_vec()
}

/// Position, message and hint of the only diagnostic.
fn mistake(text: &str) -> (usize, usize, String, Option<String>) {
    let all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].line, all[0].column, all[0].problem.to_string(), all[0].hint.clone())
}

fn formula(text: &str) -> Formula {
    text.parse().unwrap()
}

fn operation(name: &str, of: Option<&str>, on: Option<&str>, times: &str) -> ModelTerm {
    let operation = ComputeOp { name: name.into(), data_type: of.map(Into::into), computer: on.map(|on| Computer(on.into())) };
    ModelTerm::Operation { operation, times: formula(times) }
}

#[test]
fn a_model_has_declarations_and_procedures() {
    let model = read(
        "language java;
         parameter n = 8;  // rows
         // how often a loop is left,
         // as measured
         parameter load = [0.9, 1.1];
         parameter trips;
         resource network; resource disks(2*n);
         /* the program */
         main = { work(1, 0) };
         work(i, w) {}",
    );
    let parameter = |name: &str, value: Option<&str>, note: Option<&str>| ModelParameter {
        name: name.into(),
        value: value.map(formula),
        comment: note.map(Into::into),
    };
    assert_eq!(model.language, SourceLanguage::Java);
    let load = parameter("load", Some("[0.9, 1.1]"), Some("how often a loop is left,\nas measured"));
    assert_eq!(model.parameters, [parameter("n", Some("8"), Some("rows")), load, parameter("trips", None, None)]);
    let resource = |name: &str, multiplicity: &str| ResourceDecl { name: name.into(), multiplicity: formula(multiplicity) };
    assert_eq!(model.resources, [resource("network", "1"), resource("disks", "2*n")]);
    let call = ModelTerm::Call { procedure: "work".into(), arguments: vec![formula("1"), formula("0")] };
    let main = ProcedureDecl { name: "main".into(), parameters: vec![], body: call, comment: Some("the program".into()) };
    let work =
        ProcedureDecl { name: "work".into(), parameters: vec!["i".into(), "w".into()], body: ModelTerm::Sequence(vec![]), comment: None };
    assert_eq!(model.procedures, [main, work]);
}

#[test]
fn every_term_is_read() {
    assert_eq!(body("sum_double"), operation("sum", Some("double"), None, "1"));
    assert_eq!(body("sum_double_0(3*n)"), operation("sum", Some("double"), Some("0"), "3*n"));
    assert_eq!(body("compare_p"), operation("compare", None, Some("p"), "1"));
    assert_eq!(body("delay(1e-3)"), ModelTerm::Delay(formula("0.001")));
    let message = ModelTerm::Message { from: Computer("0".into()), to: Computer("w_1".into()), bytes: formula("8*n") };
    assert_eq!(body("send_0_w_1(8*n)"), message);
    let group = ModelTerm::Collective { operation: CollectiveKind::ReduceScatterBlock, bytes: formula("8*n"), processes: formula("p") };
    assert_eq!(body("reduce_scatter_block(8*n, p)"), group);
    let barrier = ModelTerm::Collective { operation: CollectiveKind::Barrier, bytes: formula("0"), processes: formula("p") };
    assert_eq!(body("barrier(p)"), barrier);
    let used = ModelTerm::Use { resource: "disk".into(), body: Box::new(ModelTerm::Delay(formula("1"))) };
    assert_eq!(body("use(disk, delay(1))"), used);
}

#[test]
fn loops_tasks_and_conditions_hold_other_terms() {
    let delay = |text: &str| Box::new(ModelTerm::Delay(formula(text)));
    let inner = ModelTerm::Loop { order: LoopOrder::Parallel, index: "j".into(), from: formula("i"), to: formula("n"), body: delay("i*j") };
    let outer = ModelTerm::Loop {
        order: LoopOrder::Sequential,
        index: "i".into(),
        from: formula("1"),
        to: formula("max(n, 2)"),
        body: Box::new(inner),
    };
    assert_eq!(body("seq(i=1,max(n, 2)) par(j=i,n) delay(i*j)"), outer);
    let tasks = ModelTerm::Tasks { index: "i".into(), from: formula("1"), to: formula("n"), computer: "w".into(), body: delay("i") };
    assert_eq!(body("tasks(i=1,n) on w delay(i)"), tasks);
    let condition = |place: Option<&str>, share: Option<&str>, then, otherwise| ModelTerm::If {
        position: place.map(Into::into),
        share: share.map(formula),
        then,
        otherwise,
    };
    let nothing = || Box::new(ModelTerm::Sequence(vec![]));
    assert_eq!(body("if delay(1)"), condition(None, None, delay("1"), nothing()));
    let full = condition(Some("Primes.java:14"), Some("[0.1, 0.2]"), delay("1"), delay("2"));
    assert_eq!(body("if \"Primes.java:14\" ([0.1, 0.2]) { delay(1) } else { delay(2); }"), full);
}

#[test]
fn blocks_are_sequences_or_parallel_and_a_block_of_one_is_what_is_in_it() {
    let delay = |number: i64| ModelTerm::Delay(Formula::integer(number));
    assert_eq!(body(""), ModelTerm::Sequence(vec![]));
    assert_eq!(body("{{ delay(1) }};"), delay(1));
    assert_eq!(body("delay(1); delay(2);"), ModelTerm::Sequence(vec![delay(1), delay(2)]));
    assert_eq!(body("delay(1) || delay(2);"), ModelTerm::Parallel(vec![delay(1), delay(2)]));
    let nested = ModelTerm::Sequence(vec![ModelTerm::Parallel(vec![delay(1), delay(2)]), delay(3)]);
    assert_eq!(body("{ delay(1) || delay(2) } delay(3)"), nested);
}

#[test]
fn comments_between_terms_are_notes_and_those_behind_a_term_come_before_it() {
    let term = body("// first\n access; // reading\n compare; /* one\n * two */ ");
    let note = |text: &str| ModelTerm::Comment(text.into());
    let [access, compare] = ["access", "compare"].map(|name| operation(name, None, None, "1"));
    let expected = vec![note("first"), note("reading"), access, note("one"), note("two"), compare];
    assert_eq!(term, ModelTerm::Sequence(expected));
    let commented = body("access /* inside of a term: not kept */ (n /* rows, ü */ + 1)");
    assert_eq!(commented, operation("access", None, None, "n + 1"));
}

#[test]
fn the_figures_of_the_paper_are_models() {
    let figure_2 = "main { access_p; compare_p; if { metodo_T_p } else { delay(1) } }
        metodo_T_p = {
            // parameter y
            assign_double_p;
            seq(i=1,100000) { assign_double_p; access_double_p; sum_double_p; compare_p; delay(1) }
        }";
    assert_eq!(read(figure_2).procedures[1].name, "metodo_T_p");
    let figure_4 = "L = { sum_double_p; mpy_int_p; par(i=1,10) { use(p, metodo_M_p); } };
        metodo_M_p = { seq(i=1,1000000) { sum_double_p; } }";
    assert_eq!(read(figure_4).procedures[0].name, "L");
}

#[test]
fn the_layout_is_stable() {
    let text = "\
language java;

parameter n = 8;  // rows
// two
// lines
parameter m;

resource disks(4);

// the program
main {
    // once
    sum_double_0(n);
    seq(i=1,n) { access }
    if \"A.java:3\" (0.5) {
        {
            access ||
            // other
            compare
        }
        delay(1);
    } else if (0.1) { barrier(p) } else { call }
    tasks(i=1,n) on w {
        use(disks, {
            send_0_w(8*n);
            work(i, w);
        });
    }
    {}
}

work(i, w) {
    delay(i);
}
";
    assert_eq!(read(text).to_text(), text);
}

#[test]
fn what_does_not_fit_a_line_stands_on_its_own() {
    let long =
        "n + ".repeat(40) + "sqrt(n + 1)*n^(1/3)*log2(n + 2)*log2(n + 3)*log2(n + 4)*log2(n + 5)*log2(n + 6)*log2(n + 7)*log2(n + 8)";
    let text = read(&format!("parameter n; main {{ seq(i=1,n) {{ delay({long}) }} }}")).to_text();
    assert!(text.contains("seq(i=1,n) {\n        delay("), "{text}");
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_hint() {
    let error = PamelaModel::parse("parameter n;\nmain {\n\tseq(i=1,m) { access }\n}\n", "dir/a.pam").unwrap_err();
    let expected = "\
dir/a.pam:3:10: undefined symbol `m`: it is neither a parameter of the model nor an index or procedure parameter in scope
     seq(i=1,m) { access }
             ^
    hint: did you mean `n`?";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn mixing_is_refused_with_a_hint() {
    let (line, column, message, hint) = mistake("main { access;\n compare || call }");
    assert_eq!((line, column), (2, 10));
    assert!(message.contains("`;` and `||`") && hint.unwrap().contains("{ a; b } || c"), "{message}");
    assert_eq!(mistake("main { {access} {compare} || call }").1, 27);
}

#[test]
fn a_missing_brace_is_told_where_it_is_opened() {
    let (line, column, message, hint) = mistake("main {\n  seq(i=1,3) {\n  access;\n}\n");
    assert_eq!((line, column, message.as_str()), (1, 6, "this `{` is never closed"));
    assert!(hint.unwrap().contains("line 1"));
    assert_eq!(mistake("main { } }").2, "unmatched `}`");
    let all = mistakes("main {\n seq(i=1,3) {\n access;\n}\nwork(i) {\n access\n}\n");
    assert!(all.iter().any(|mistake| mistake.line == 5), "{all:?}");
}

#[test]
fn names_that_are_not_known_are_told_with_what_is_near() {
    let unknown = |text: &str| {
        let (_, column, message, hint) = mistake(text);
        (column, message, hint.unwrap_or_default())
    };
    let (column, message, hint) = unknown("main { serach(1) } search(i) { delay(i) }");
    assert_eq!((column, message.as_str(), hint.as_str()), (8, "there is no procedure and no operation `serach`", "did you mean `search`?"));
    let (column, message, hint) = unknown("main { sum_duoble }");
    assert_eq!((column, hint.as_str()), (8, "did you mean `sum_double`?"));
    assert!(message.contains("needs a data type"), "{message}");
    let (column, message, hint) = unknown("resource network; main { use(netwrok, access) }");
    assert_eq!((column, hint.as_str()), (30, "did you mean `network`?"));
    assert!(message.contains("no resource and no computer"), "{message}");
    let (column, _, hint) = unknown("main { seq(i=1,3) { access } delay(i) }");
    assert_eq!(column, 36);
    assert!(hint.contains("only in scope inside"), "{hint}");
    let (_, message, hint) = unknown("main { send_0(8) }");
    assert!(message.contains("`send_0`") && hint.contains("send_0_w(8*n)"), "{message}, {hint}");
}

#[test]
fn computers_need_no_declaration_but_numbers_do() {
    read("main { work(3, q) } work(i, w) { seq(j=1,i) sum_int_w }");
    read("main { work(q); use(q, access_0) } work(w) { inner(w) } inner(w) { access_w }");
    let (_, column, message, _) = mistake("main { work(q) } work(w) { inner(w) } inner(w) { delay(w) }");
    assert_eq!(column, 13);
    assert!(message.contains("undefined symbol `q`"), "{message}");
}

#[test]
fn a_procedure_that_calls_itself_is_refused_with_the_way_round() {
    let (_, column, message, _) = mistake("main { a } a { access; b } b { c; } c { a || access }");
    assert_eq!((column, message.as_str()), (41, "a procedure must not call itself: a calls b calls c calls a"));
    assert!(mistake("main { main }").2.ends_with("main calls main"));
}

#[test]
fn what_is_declared_twice_is_refused() {
    for text in ["parameter n;\nparameter n;\nmain {}", "resource n;\nresource n;\nmain {}", "main {}\nmain {}"] {
        let (line, _, message, hint) = mistake(text);
        assert_eq!((line, hint.unwrap().as_str()), (2, "the first one is in line 1"));
        assert!(message.starts_with("there are two"), "{message}");
    }
    assert_eq!(mistake("main { a(1, 2) } a(i, i) { delay(i) }").1, 23);
}

#[test]
fn the_number_of_processes_is_no_parameter() {
    let (_, column, message, hint) = mistake("parameter p = 8; main { delay(p) }");
    assert_eq!((column, hint.unwrap().as_str()), (11, "it needs no declaration: predict --procs gives it"));
    assert!(message.starts_with("no parameter can be called `p`"), "{message}");
}

#[test]
fn wrong_numbers_of_arguments_are_told() {
    let cases = [
        ("work(1)", "`work` takes 2 arguments, not 1"),
        ("access(1, 2)", "`access` takes at most 1 argument (the count), not 2"),
        ("send_0_1", "`send_0_1` takes 1 argument (the size in bytes), not 0"),
        ("bcast(8)", "`bcast` takes 2 arguments (the size in bytes and the number of processes), not 1"),
        ("delay(1, 2)", "`delay` takes 1 argument (the time in seconds), not 2"),
    ];
    for (term, message) in cases {
        assert_eq!(mistake(&format!("main {{ {term} }} work(i, w) {{ delay(i) }}")).2, message);
    }
}

#[test]
fn numbers_must_be_what_they_are_used_for() {
    assert_eq!(mistake("main { if (2) access }").2, "a share must be from 0 to 1, not 2");
    assert_eq!(mistake("main { if ([0.5, 1.5]) access }").2, "a share must be from 0 to 1, not [0.5, 1.5]");
    assert_eq!(mistake("main { delay(-1) }").2, "a time must be 0 or more, not -1");
    assert_eq!(mistake("resource a(0); main { access }").2, "a multiplicity must be above 0, not 0");
}

#[test]
fn mistakes_in_formulas_are_at_their_place() {
    let (line, column, message, _) = mistake("main {\n delay(1 + *3) }");
    assert_eq!((line, column, message.as_str()), (2, 12, "expected a formula, found `*`"));
    let (_, column, _, hint) = mistake("main { seq(i=1..3) access }");
    assert_eq!(column, 15);
    assert!(hint.unwrap().contains("seq(i=1,n)"));
    assert_eq!(mistake("main { delay(1 + ) }").1, 18);
    let (line, _, _, hint) = mistake("parameter n = 10\nparameter m;\nmain { delay(m) }");
    assert_eq!((line, hint.unwrap().as_str()), (2, "is a `;` or a `)` missing before this?"));
    assert_eq!(mistake("main { delay((1 + 2) }").1, 22);
}

#[test]
fn parameters_may_use_those_before_them() {
    read("parameter n = 8; parameter m = n^2/p; main {}");
    let (_, column, _, hint) = mistake("parameter m = n;\nparameter n; main {}");
    assert_eq!(column, 15);
    assert!(hint.unwrap().contains("line 2"));
}

#[test]
fn a_program_is_needed_and_nobody_gives_it_anything() {
    assert!(mistake("parameter n;").2.contains("no procedure"));
    assert!(mistake("").2.contains("no procedure"));
    assert!(mistake("main(i) { delay(i) }").2.contains("`main` cannot have parameters"));
    assert!(mistake("seq(i=1,3) { access }").2.contains("reserved word"));
}

#[test]
fn all_mistakes_of_a_text_are_told_at_once() {
    let text = "\
parameter n
parameter m;
main {
    sum_double;
    seq(i=1 m) { access }
    serach(1);
    { if (3) access }
    use(disk, access; compare);
    @;
}
resource disk;
work(i { access }
last { /* no end }
";
    let lines: Vec<usize> = mistakes(text).iter().map(|mistake| mistake.line).collect();
    assert_eq!(lines, [2, 5, 7, 8, 9, 12, 13, 13]);
}

#[test]
fn no_more_than_a_hundred_are_told() {
    assert_eq!(mistakes(&format!("main {{ {} }}", "@;".repeat(1000))).len(), 100);
    assert_eq!(mistakes(&format!("main {{ {}", "away;".repeat(1000))).len(), 100, "though a brace is missing as well");
}

#[test]
fn deep_nesting_is_an_error() {
    let nested = |depth: usize| format!("main {}access{}", "{".repeat(depth), "}".repeat(depth));
    read(&nested(200));
    let (_, column, message, _) = mistake(&nested(100_000));
    assert_eq!(column, 263);
    assert!(message.contains("256 deep"), "{message}");
    assert!(mistake(&format!("main {{ {} access }}", "seq(i=1,2) ".repeat(100_000))).2.contains("256 deep"));
    assert!(mistake(&format!("main {{ delay({}1) }}", "(".repeat(100_000))).2.contains("deep"));
}

#[test]
fn a_file_that_is_no_text_or_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pam");
    std::fs::write(&path, b"main {}\n // \xff").unwrap();
    let error = PamelaModel::read(&path).unwrap_err();
    assert_eq!((error.diagnostics()[0].line, error.diagnostics()[0].column), (2, 5));
    assert!(matches!(PamelaModel::read(Path::new("/nowhere/a.pam")), Err(Error::Unreadable { .. })));
    std::fs::write(&path, b"\xef\xbb\xbfmain {}").unwrap();
    PamelaModel::read(&path).unwrap();
}

#[test]
fn a_model_that_was_built_is_held_to_the_same_rules() {
    let built = |body: ModelTerm| {
        let main = ProcedureDecl { name: "main".into(), parameters: vec![], body, comment: None };
        PamelaModel { procedures: vec![main], ..PamelaModel::default() }.check().map_err(|error| error.to_string())
    };
    assert_eq!(built(operation("sum", Some("double"), Some("w"), "3")), Ok(()));
    assert_eq!(built(ModelTerm::Sequence(vec![ModelTerm::Parallel(vec![ModelTerm::Delay(formula("1"))])])), Ok(()));
    let refused = |term: ModelTerm, with: &str| assert!(built(term).is_err_and(|error| error.contains(with)), "{with}");
    refused(operation("sum", Some("double"), None, "n"), "undefined symbol `n`");
    refused(operation("sum_double", None, None, "1"), "`sum_double`, in the procedure `main`, cannot be an operation");
    refused(operation("sum", Some("byte"), None, "1"), "cannot be a type");
    refused(operation("access", None, Some("int"), "1"), "cannot be a computer");
    refused(operation("access", None, Some("a;b"), "1"), "cannot be a computer");
    refused(ModelTerm::Message { from: Computer("a_b".into()), to: Computer("c".into()), bytes: formula("1") }, "the sender");
    refused(ModelTerm::Call { procedure: "away".into(), arguments: vec![] }, "cannot be called");
    refused(ModelTerm::Call { procedure: "main".into(), arguments: vec![] }, "must not call itself");
}
