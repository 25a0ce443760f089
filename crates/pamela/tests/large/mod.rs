//! Models of any size, for what must not take longer and longer with it.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, Model, Operation, Order, Procedure, Term};

/// An operation on `w`, once.
pub fn operation(name: &str) -> Term {
    let operation = Operation { name: name.to_owned(), of: Some("int".to_owned()), on: Some(Computer("w".to_owned())) };
    Term::Operation { operation, times: Formula::one() }
}

/// A procedure without a note.
pub fn procedure(name: String, parameters: &[&str], body: Term) -> Procedure {
    Procedure { name, parameters: parameters.iter().map(|name| (*name).to_owned()).collect(), body, note: None }
}

/// A model of so many nodes: procedures of twenty, each a loop with operations in it, and calls of all of them.
pub fn large(nodes: usize) -> Model {
    let body = || Term::Loop {
        order: Order::Sequential,
        index: "i".to_owned(),
        from: Formula::one(),
        to: Formula::symbol("n"),
        body: Box::new(Term::Sequence(["sum", "mpy", "compare", "load", "store", "assign"].repeat(3).into_iter().map(operation).collect())),
    };
    let call = |place: usize| Term::Call {
        procedure: format!("f{place}"),
        arguments: vec![Formula::integer(place as i64 % 8 + 1), Formula::integer(place as i64)],
    };
    let many = nodes / 21;
    let mut procedures = vec![procedure("main".to_owned(), &[], Term::Sequence((0..many).map(call).collect()))];
    procedures.extend((0..many).map(|place| procedure(format!("f{place}"), &["w", "n"], body())));
    Model { procedures, ..Model::default() }
}
