//! The compilation of the paper's Figure 4, symbol for symbol.

use sintonia_formula::Formula;
use sintonia_pamela::compile::{BranchShares, CompileError, CostAnalysis, compile};
use sintonia_pamela::estimate::ClosedForms;
use sintonia_pamela::model::{ModelTerm, PamelaModel};

fn analysis(text: &str) -> CostAnalysis {
    let model = PamelaModel::parse(text, "test.pam").unwrap();
    compile(&model, &BranchShares::new()).unwrap()
}

fn contended(analysis: &CostAnalysis, name: &str) -> String {
    let (_, load) = analysis.contended.iter().find(|(resource, _)| resource.to_string() == name).unwrap();
    load.to_string()
}

const FIGURE_4: &str =
    "L = { sum_double_p; mpy_int_p; par(i=1,10) { use(p, metodo_M_p()) } }  metodo_M_p() { seq(i=1,1000000) { sum_double_p; } }";

#[test]
fn figure_4_is_compiled_symbol_for_symbol() {
    let analysis = analysis(FIGURE_4);
    assert_eq!(analysis.contended.len(), 1, "the figure has contention only at computer p");
    assert_eq!(analysis.contention_free.to_string(), "t_sum_double_p + t_mpy_int_p + max(i=1..10, 1000000*(t_sum_double_p))");
    assert_eq!(contended(&analysis, "p"), "t_sum_double_p + t_mpy_int_p + sum(i=1..10, 1000000*(t_sum_double_p))");
    assert_eq!(
        analysis.time().to_string(),
        "max(t_sum_double_p + t_mpy_int_p + max(i=1..10, 1000000*(t_sum_double_p)), \
         t_sum_double_p + t_mpy_int_p + sum(i=1..10, 1000000*(t_sum_double_p)))"
    );
}

#[test]
fn what_figure_4_leaves_out_of_its_loop_is_added_inside_of_it() {
    let analysis = analysis(&FIGURE_4.replace("sum_double_p; }", "sum_double_p; access_p; compare_p }"));
    let round = "1000000*(t_sum_double_p + t_access_p + t_compare_p)";
    assert_eq!(analysis.contention_free.to_string(), format!("t_sum_double_p + t_mpy_int_p + max(i=1..10, {round})"));
    assert_eq!(contended(&analysis, "p"), format!("t_sum_double_p + t_mpy_int_p + sum(i=1..10, {round})"));
}

#[test]
fn figure_4_has_closed_forms() {
    let closed = ClosedForms::from_analysis(&analysis(FIGURE_4));
    let formula = |text: &str| Formula::parse(text).unwrap();
    assert_eq!(closed.contention_free, formula("1000001*t_sum_double_p + t_mpy_int_p"));
    assert_eq!(closed.contended[0].1, formula("10000001*t_sum_double_p + t_mpy_int_p"));
    assert_eq!(closed.time, formula("10000001*t_sum_double_p + t_mpy_int_p"));
    assert_eq!(closed.upper, closed.lower, "a block of one resource takes what that is busy for");
}

#[test]
fn a_resource_that_several_can_use_is_divided_by_their_number() {
    let analysis = analysis("resource disks(4); main { par(i=1,n) use(disks, delay(i)) } parameter n = 3;");
    assert_eq!(contended(&analysis, "disks"), "(sum(i=1..n, i))/4");
    assert_eq!(ClosedForms::from_analysis(&analysis).contended[0].1, Formula::parse("(n^2 + n)/8").unwrap());
}

#[test]
fn an_index_keeps_apart_from_a_parameter_of_the_same_name() {
    let analysis = analysis("main { seq(i=1,10) f(2*i) } f(x) { seq(i=1,3) delay(x*i) }");
    assert_eq!(analysis.contention_free.to_string(), "sum(i=1..10, sum(i_1=1..3, 2*i*i_1))");
    assert_eq!(ClosedForms::from_analysis(&analysis).contention_free, Formula::integer(2 * 55 * 6));
}

#[test]
fn arguments_that_exchange_names_are_given_at_once() {
    let analysis = analysis("main { f(2, 3) } f(a, b) { g(b, a) } g(a, b) { delay(a - b) }");
    assert_eq!(ClosedForms::from_analysis(&analysis).contention_free, Formula::one());
}

#[test]
fn an_index_named_as_a_model_parameter_does_not_reach_into_procedures() {
    let analysis = analysis("parameter n = 100; main { seq(n=1,3) f() } f() { delay(n) }");
    assert_eq!(ClosedForms::from_analysis(&analysis).contention_free, Formula::parse("3*n").unwrap());
}

#[test]
fn a_computer_given_to_a_procedure_does_its_operations() {
    let analysis = analysis("main { f(0); par(w=1,p) f(w) } f(q) { sum_int_q }");
    assert_eq!(analysis.contention_free.to_string(), "t_sum_int_0 + max(w=1..p, t_sum_int_w)");
    assert_eq!(contended(&analysis, "0"), "t_sum_int_0");
    assert_eq!(contended(&analysis, "computers"), "max(computer=1..p, t_sum_int_computer)");
}

#[test]
fn recursion_is_refused() {
    let mut model = PamelaModel::parse("main { f() } f() { g() } g() { delay(1) }", "test.pam").unwrap();
    model.procedures[2].body = ModelTerm::Call { procedure: "f".to_owned(), arguments: Vec::new() };
    assert_eq!(compile(&model, &BranchShares::new()).unwrap_err(), CompileError::Recursion("f".to_owned()));
}

#[test]
fn the_program_cannot_have_parameters() {
    let mut model = PamelaModel::parse("main { delay(1) }", "test.pam").unwrap();
    model.procedures[0].parameters.push("n".to_owned());
    let error = compile(&model, &BranchShares::new()).unwrap_err();
    assert!(matches!(error, CompileError::MainParameters { .. }), "{error}");
}
