//! The effort grows with the text of a model, not with its expansion.
//!
//! Times are compared here, so these tests have a process of their own: all others of the crate would run beside them.

mod large;

use std::path::Path;
use std::time::{Duration, Instant};

use large::{large, procedure};
use sintonia_formula::{Formula, SymbolValues};
use sintonia_machine::Machine;
use sintonia_pamela::compile::{BranchShares, CompileError, compile};
use sintonia_pamela::estimate::{AllocationPolicy, ClosedForms, EstimateRequest, ModelEstimator};
use sintonia_pamela::model::{LoopOrder, ModelTerm, PamelaModel};

/// The minimum of three measurements, since the machine is shared.
fn least(work: impl Fn()) -> Duration {
    let once = || {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap()
}

#[test]
fn twice_the_nodes_compile_in_twice_the_time() {
    let [half, whole] = [50_000, 100_000].map(|nodes| {
        let model = large(nodes);
        least(|| assert!(!compile(&model, &BranchShares::new()).unwrap().contention_free.is_zero()))
    });
    assert!(whole < half * 4, "{half:?} for 50,000 nodes and {whole:?} for 100,000");
}

#[test]
fn twice_the_nodes_have_closed_forms_in_twice_the_time() {
    let [half, whole] = [5_000, 10_000].map(|nodes| {
        let analysis = compile(&large(nodes), &BranchShares::new()).unwrap();
        least(|| assert!(!ClosedForms::from_analysis(&analysis).contention_free.is_zero()))
    });
    assert!(whole < half * 4, "{half:?} for 5,000 nodes and {whole:?} for 10,000");
}

#[test]
fn many_branches_have_a_time_at_once() {
    let machine = "format = 1\n[machine]\nname = \"lab\"\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 1\n";
    let machine = Machine::parse(machine, Path::new("lab")).unwrap();
    let setting = EstimateRequest { workers: 1, parameters: SymbolValues::new(), allocation: AllocationPolicy::Static };
    let [few, many] = [2_500, 10_000].map(|branches| {
        let branch = |place: usize| ModelTerm::Delay(Formula::symbol("n") + Formula::integer(place as i64));
        let mut model = PamelaModel::parse("parameter n = 1; main {}", "test.pam").unwrap();
        model.procedures[0].body = ModelTerm::Parallel((0..branches).map(branch).collect());
        least(|| {
            let time = ModelEstimator::new(&model, &machine, &BranchShares::new()).unwrap().estimate(&setting).unwrap();
            assert_eq!(time.seconds, [branches as f64; 3]);
        })
    });
    assert!(many < few * 10, "{few:?} for 2,500 branches and {many:?} for 10,000");
}

#[test]
fn a_chain_that_doubles_at_every_step_does_not_blow_up() {
    let call = |place: usize, argument: Formula| ModelTerm::Call { procedure: format!("f{place}"), arguments: vec![argument] };
    let step = |place: usize| {
        let twice =
            ModelTerm::Sequence(vec![call(place + 1, Formula::symbol("x") + Formula::one()), call(place + 1, Formula::symbol("x"))]);
        procedure(format!("f{place}"), &["x"], twice)
    };
    let mut procedures = vec![procedure("main".to_owned(), &[], call(0, Formula::zero()))];
    procedures.extend((0..100).map(step));
    procedures.push(procedure("f100".to_owned(), &["x"], ModelTerm::Delay(Formula::symbol("x"))));
    let analysis = compile(&PamelaModel { procedures, ..PamelaModel::default() }, &BranchShares::new()).unwrap();
    // Each of the 2^100 leaves has its number of left steps, fifty of a hundred on average.
    assert_eq!(ClosedForms::from_analysis(&analysis).contention_free, Formula::integer(2).power(100) * Formula::integer(50));
    assert!(analysis.contention_free.size() > u64::MAX / 2, "it would never be written down");
    assert!(analysis.contention_free.to_string().len() < 100);
}

#[test]
fn a_chain_that_is_too_deep_is_refused() {
    let call = |place: usize| ModelTerm::Call { procedure: format!("f{place}"), arguments: vec![Formula::symbol("x")] };
    let looped = |place: usize| ModelTerm::Loop {
        order: LoopOrder::Parallel,
        index: "i".to_owned(),
        from: Formula::one(),
        to: Formula::symbol("x"),
        body: Box::new(call(place + 1)),
    };
    let mut procedures =
        vec![procedure("main".to_owned(), &[], ModelTerm::Call { procedure: "f0".to_owned(), arguments: vec![Formula::one()] })];
    procedures.extend((0..100_000).map(|place| procedure(format!("f{place}"), &["x"], looped(place))));
    procedures.push(procedure("f100000".to_owned(), &["x"], ModelTerm::Delay(Formula::symbol("x"))));
    let error = compile(&PamelaModel { procedures, ..PamelaModel::default() }, &BranchShares::new()).unwrap_err();
    assert!(matches!(error, CompileError::TooDeep(_)), "{error}");
}

#[test]
fn reading_and_printing_take_as_long_as_the_text_is() {
    let taken = |terms: usize| {
        let term = |at: usize| match at % 8 {
            0 => format!("seq(i=1,{at}*n) {{ sum_double_w(i) }}"),
            1 => "// a remark".to_owned(),
            2 => format!("\nuse(network, send_0_w({}*n))", at % 64),
            3 => "if \"A.java:3\" (0.5) compare else { work(n, w) }".to_owned(),
            _ => "mpy_double_w; access_int".to_owned(),
        };
        let terms: Vec<String> = (0..terms / 2).map(|at| term(at) + if at % 8 == 1 { "\n" } else { ";" }).collect();
        let text = format!("parameter n; resource network; main {{ {} }} work(i, w) {{ sum_int_w(i) }}", terms.join(" "));
        least(|| {
            let model = PamelaModel::parse(&text, "a.pam").unwrap();
            assert!(model.to_text().len() > text.len() / 2);
        })
    };
    let (small, large) = (taken(5_000), taken(50_000));
    assert!(large < 40 * small, "ten times the terms took {large:?} instead of {small:?}");
}
