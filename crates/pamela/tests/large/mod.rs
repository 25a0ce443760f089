//! Models of any size, for scaling tests.

use sintonia_formula::Formula;
use sintonia_pamela::model::{ComputeOp, Computer, LoopOrder, ModelTerm, PamelaModel, ProcedureDecl};

/// An operation on `w`, once.
pub(crate) fn operation(name: &str) -> ModelTerm {
    let operation = ComputeOp { name: name.to_owned(), data_type: Some("int".to_owned()), computer: Some(Computer("w".to_owned())) };
    ModelTerm::Operation { operation, times: Formula::one() }
}

/// A procedure without a comment.
pub(crate) fn procedure(name: String, parameters: &[&str], body: ModelTerm) -> ProcedureDecl {
    ProcedureDecl { name, parameters: parameters.iter().map(|name| (*name).to_owned()).collect(), body, comment: None }
}

/// A model of about `nodes` nodes: procedures of twenty, each a loop with operations in it, and calls of all of them.
pub(crate) fn large(nodes: usize) -> PamelaModel {
    let body = || ModelTerm::Loop {
        order: LoopOrder::Sequential,
        index: "i".to_owned(),
        from: Formula::one(),
        to: Formula::symbol("n"),
        body: Box::new(ModelTerm::Sequence(
            ["sum", "mpy", "compare", "load", "store", "assign"].repeat(3).into_iter().map(operation).collect(),
        )),
    };
    let call = |place: usize| ModelTerm::Call {
        procedure: format!("f{place}"),
        arguments: vec![Formula::integer(place as i64 % 8 + 1), Formula::integer(place as i64)],
    };
    let many = nodes / 21;
    let mut procedures = vec![procedure("main".to_owned(), &[], ModelTerm::Sequence((0..many).map(call).collect()))];
    procedures.extend((0..many).map(|place| procedure(format!("f{place}"), &["w", "n"], body())));
    PamelaModel { procedures, ..PamelaModel::default() }
}
