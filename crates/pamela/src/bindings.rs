//! Substitution of formulas and computers for names.
//!
//! Procedures are analysed once, with names for their parameters. At a call all names are substituted simultaneously, so that `f(b, a)` for
//! `f(a, b)` swaps the two.

use sintonia_formula::Formula;

use crate::model::Computer;

/// Distinct names and their substitutes.
pub(crate) type Bindings = Vec<(String, Formula)>;

/// The name of the computer that a block runs on, before that is known.
pub(crate) const CURRENT_COMPUTER: &str = "";

/// The computer of an operation after substitution; an operation without one runs on the computer of its block.
pub(crate) fn resolve_computer(on: Option<&Computer>, bindings: &[(String, Formula)]) -> Option<Computer> {
    let here = || bindings.iter().find(|(name, _)| name == CURRENT_COMPUTER).map(|(_, by)| Computer(display_name(by)));
    on.map_or_else(here, |on| Some(bind_computer(on, bindings)))
}

/// A formula with all names substituted simultaneously.
pub(crate) fn substitute_all(formula: &Formula, bindings: &[(String, Formula)]) -> Formula {
    if bindings.is_empty() || formula.as_exact().is_some() {
        return formula.clone();
    }
    let names = formula.symbols();
    let own: Vec<&(String, Formula)> = bindings.iter().filter(|(name, _)| names.contains(name)).collect();
    let clash = own.len() > 1 && own.iter().any(|(_, by)| by.symbols().iter().any(|symbol| own.iter().any(|(name, _)| name == symbol)));
    if !clash {
        return own.iter().fold(formula.clone(), |formula, (name, by)| formula.substitute(name, by));
    }
    // No name of a model contains a space, so these cannot clash.
    let apart = |name: &str| format!("{name} replaced");
    let moved = own.iter().fold(formula.clone(), |formula, (name, _)| formula.substitute(name, &Formula::symbol(&apart(name))));
    own.iter().fold(moved, |formula, (name, by)| formula.substitute(&apart(name), by))
}

pub(crate) fn bind_computer(computer: &Computer, bindings: &[(String, Formula)]) -> Computer {
    match bindings.iter().find(|(name, _)| *name == computer.0) {
        Some((_, by)) => Computer(display_name(by)),
        None => computer.clone(),
    }
}

/// The name of a formula where a name is expected: a symbol by its bare name, anything else as printed.
pub(crate) fn display_name(formula: &Formula) -> String {
    as_symbol(formula).unwrap_or_else(|| formula.to_string())
}

/// The name of a formula that is a single symbol.
pub(crate) fn as_symbol(formula: &Formula) -> Option<String> {
    if formula.as_exact().is_some() || formula.len() != 1 {
        return None;
    }
    formula.symbols().into_iter().next().filter(|name| Formula::symbol(name) == *formula)
}

/// An unused name derived from the wanted one.
pub(crate) fn unused_name(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    (1_u64..).map(|number| format!("{wanted}_{number}")).find(|name| !taken(name)).unwrap_or_else(|| wanted.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Formula {
        Formula::parse(text).unwrap()
    }

    #[test]
    fn all_names_are_replaced_at_once() {
        let exchanged = substitute_all(&formula("a - 2*b"), &[("a".into(), formula("b + 1")), ("b".into(), formula("a"))]);
        assert_eq!(exchanged, formula("b + 1 - 2*a"));
    }

    #[test]
    fn a_computer_is_a_name_or_a_number() {
        let bindings = [("w".into(), formula("0")), ("v".into(), formula("i"))];
        let named = |name: &str| bind_computer(&Computer(name.into()), &bindings).0;
        assert_eq!([named("w"), named("v"), named("u")], ["0", "i", "u"]);
    }
}
