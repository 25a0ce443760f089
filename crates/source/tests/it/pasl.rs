//! PASL: applications and errors.

use sintonia_source::SourceFile;
use sintonia_source::pasl::{self, BatchArgument, PaslApplication};

use crate::support::{application, error, lines};

fn read(text: &str) -> PaslApplication {
    pasl::parse(&SourceFile::new("a.pasl", text)).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(text: &str) -> String {
    pasl::parse(&SourceFile::new("a.pasl", text)).expect_err("an error").to_string()
}

const PRIMES: &str = "application primes; // what it is called
parameter tasks = 100;
parameter upto = 10000 * tasks;
batch total { run: Primes.total(search) }
batch search { tasks: tasks; run: Primes.search((task - 1)*upto/tasks, task*upto/tasks); }
flow search -> total { bytes: 8; }";

const JAVA: &str = "class Primes {
    static long search(long from, long to) {
        long count = 0;
        for (long i = from; i < to; i++) { count++; }
        return count;
    }
    static long total(long[] counts) {
        long sum = 0;
        for (int i = 0; i < counts.length; i++) { sum += counts[i]; }
        return sum;
    }
}";

#[test]
fn batches_come_after_those_whose_results_they_need() {
    let application = read(PRIMES);
    let names: Vec<(&str, usize)> = application.batches.iter().map(|batch| (batch.name.as_str(), batch.level)).collect();
    assert_eq!((application.name.as_str(), names), ("primes", vec![("search", 0), ("total", 1)]));
    assert_eq!(application.batches[0].tasks.to_string(), "tasks");
    assert!(matches!(application.batches[1].arguments[..], [BatchArgument::Results { batch: 0, .. }]));
    let flow = &application.flows[0];
    assert_eq!(
        (application.flows.len(), flow.from, flow.to, flow.bytes.as_ref().map(ToString::to_string)),
        (1, 0, 1, Some("8".to_owned()))
    );
    assert_eq!(application.parameters[1].value.as_ref().map(ToString::to_string), Some("10000*tasks".to_owned()));
}

#[test]
fn the_example_of_the_documentation_is_an_application() {
    let page = include_str!("../../../../docs/pasl.md");
    let example =
        page.lines().skip_while(|line| !line.starts_with("    //")).take_while(|line| line.is_empty() || line.starts_with("    "));
    let application = read(&example.collect::<Vec<_>>().join("\n"));
    assert_eq!(application.batches.iter().map(|batch| batch.routine.as_str()).collect::<Vec<_>>(), ["Primes.search", "Primes.total"]);
}

#[test]
fn a_batch_that_is_an_argument_flows_by_itself() {
    let application = read("application a; batch x { run: A.x(); } batch y { run: A.y(x, task); }");
    assert_eq!(application.flows.iter().map(|flow| (flow.from, flow.to, flow.bytes.is_some())).collect::<Vec<_>>(), [(0, 1, false)]);
}

#[test]
fn an_application_becomes_tasks_on_workers() {
    let compiled = application(PRIMES, ("Primes.java", JAVA));
    let expected = [
        "tasks(task=1,tasks) on w",
        "  use coordinator",
        "    send_0_w(16)",
        "  use w",
        "    Primes_search(floor(task*upto/tasks - upto/tasks), floor(task*upto/tasks), w)",
        "  use coordinator",
        "    send_w_0(8)",
        "tasks(task=1,1) on w",
        "  use coordinator",
        "    send_0_w(8*tasks)",
        "  use w",
        "    Primes_total(tasks, w)",
        "  use coordinator",
        "    send_w_0(8)",
    ];
    assert_eq!(lines(&compiled.model, "main"), expected);
    assert!(lines(&compiled.model, "Primes_search").contains(&"seq(i=1,max(0, to_ - from))".to_owned()));
    assert_eq!(compiled.notes, []);
}

#[test]
fn batches_without_flow_between_them_run_at_the_same_time() {
    let text = "application a; batch x { tasks: 4; run: A.one(); } batch y { run: A.one(); } batch z { run: A.all(x, y); }";
    let java = "class A { static double one() { return 1; } static double all(double[] x, double[] y) { return x[0] + y[0]; } }";
    let compiled = application(text, ("A.java", java));
    let main = lines(&compiled.model, "main");
    assert_eq!((main[0].as_str(), main.iter().filter(|line| line.contains("tasks(")).count()), ("together", 3));
}

#[test]
fn a_cycle_is_named_with_the_way_round() {
    let found = problem(
        "application a;\nbatch x { run: A.x(z); }\nbatch y { run: A.y(x); }\nbatch z { run: A.z(y); }\nbatch free { run: A.f(z); }",
    );
    assert!(found.contains("cyclic dependency between batches: ") && found.starts_with("a.pasl:"), "{found}");
    assert!(["x -> y -> z -> x", "y -> z -> x -> y", "z -> x -> y -> z"].iter().any(|way| found.contains(way)), "{found}");
    let alone = problem("application a; batch x { run: A.x(x); }");
    assert!(alone.contains("x -> x"), "{alone}");
}

#[test]
fn errors_say_where_and_what_was_expected() {
    for (text, expected) in [
        ("batch x { }", "a.pasl:1:1: expected `application`, found `batch`"),
        ("application a", "a.pasl:1:14: expected `;`, found the end of the file"),
        ("application a; bacth x", "expected `parameter`, `batch` or `flow`, found `bacth`"),
        ("application a; bacth x", "did you mean `batch`?"),
        ("application a;\nbatch x { tasks: 2; ", "it closes the `{` of line 2"),
        ("application a; batch x { tasks: 2; }", "batch `x` has no `run`"),
        ("application a; batch x { run: f(); }", "qualify the method with its class"),
        ("application a; parameter n = 2;\nbatch x { tasks: m; run: A.f(); }", "a.pasl:2:18: there is no parameter `m` before this"),
        ("application a; parameter upto = 2; batch x { tasks: upot; run: A.f(); }", "did you mean `upto`?"),
        ("application a; batch x { tasks: task; run: A.f(); }", "there is no parameter `task`"),
        ("application a; batch x { tasks: 2 +; run: A.f(); }", "a.pasl:1:36: expected a formula, found the end"),
        ("application a; batch x { run: A.f((1); }", "expected `)`, found `;`"),
        ("application a; batch x { run: A.f(serach); } batch search { run: A.g(); }", "`serach` is neither a parameter nor a batch"),
        ("application a; batch x { run: A.f(); } flow x -> y;", "there is no batch `y`"),
        ("application a; batch x { run: A.f(); } batch x { run: A.f(); }", "there is already a batch `x`"),
        ("application a; parameter n; parameter n; batch x { run: A.f(); }", "there is already a parameter `n`"),
        ("application a; batch x { run: A.f(); } flow x -> x { byte: 3 }", "expected `bytes:` once, or `}`, found `byte`"),
        ("application a; batch x { run: A.f(1,); }", "a.pasl:1:37: expected an argument after `,`, found `)`"),
        ("application a; batch x { task: 3; run: A.f(); }", "did you mean `tasks`?"),
        ("application a; batch x { run: A.f(); } flow x -> y { byte: 3 }", "did you mean `bytes`?"),
        (
            "application a; parameter x; batch x { run: A.f(); }",
            "a.pasl:1:35: there is already a parameter `x`; a batch needs a name of its own",
        ),
        ("application a; /* never", "unterminated comment"),
        ("application a;", "expected at least one `batch`, found the end of the file"),
    ] {
        let found = problem(text);
        assert!(found.contains(expected), "{text}\ngave {found}\nand not {expected}");
    }
}

#[test]
fn what_cannot_be_derived_may_be_declared_by_its_name() {
    let java = ("A.java", "class A { static int[] f(int n) {\n while (n != 1) { if (n % 2 == 0) n /= 2; else n += 3; }\n return null; } }");
    let text = "application a; parameter trips_A_2 = 7; parameter bytes_x = 8; batch x { run: A.f(5); }";
    let names = |compiled: sintonia_source::CompiledModel| -> Vec<String> {
        compiled.model.parameters.into_iter().map(|parameter| parameter.name).collect()
    };
    assert_eq!(names(application(text, java)), ["trips_A_2", "bytes_x"]);
}

#[test]
fn deep_parentheses_are_an_error() {
    let text = format!("application a; batch x {{ tasks: {}1; run: A.f(); }}", "(".repeat(100_000));
    assert!(problem(&text).contains("are nested more than"));
}

#[test]
fn a_batch_must_fit_its_method() {
    let java = ("A.java", "class A { static int f(int n, double[] of) { return n; } }");
    for (run, expected) in [
        ("A.g(1)", "runs `A.g`, which is in no Java file"),
        ("A.f(1)", "A.f takes 2 arguments, batch `x` gives 1"),
        ("A.f(1, 2)", "`of` of A.f is not a number"),
        ("A.f(y, y)", "`n` of A.f is not an array"),
    ] {
        let text = format!("application a; batch y {{ run: B.f(); }} batch x {{ run: {run}; }}");
        let found = error(&[("a.pasl", &text), java, ("B.java", "class B { static double f() { return 1; } }")], None);
        assert!(found.contains(expected) && found.contains("a.pasl:1:"), "{found}");
    }
}
