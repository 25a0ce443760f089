//! Formulas and computers in place of names.
//!
//! Procedures are analysed once, with names for what they are given. Wherever they are called, all these names get their meaning at once, so
//! that `f(b, a)` for `f(a, b)` exchanges the two.

use sintonia_formula::Formula;

use crate::model::Computer;

/// Names, and what takes their places; no name stands there twice.
pub(crate) type Bindings = Vec<(String, Formula)>;

/// The name of the computer that a part runs on, as long as nobody has said which that is.
pub(crate) const HERE: &str = "";

/// Who does something with all names replaced; nobody in particular is whoever the part runs on.
pub(crate) fn doer(on: Option<&Computer>, bindings: &[(String, Formula)]) -> Option<Computer> {
    let here = || bindings.iter().find(|(name, _)| name == HERE).map(|(_, by)| Computer(called(by)));
    on.map_or_else(here, |on| Some(computer(on, bindings)))
}

/// A formula with all names replaced at once.
pub(crate) fn replaced(formula: &Formula, bindings: &[(String, Formula)]) -> Formula {
    if bindings.is_empty() || formula.as_exact().is_some() {
        return formula.clone();
    }
    let names = formula.symbols();
    let own: Vec<&(String, Formula)> = bindings.iter().filter(|(name, _)| names.contains(name)).collect();
    let clash = own.len() > 1 && own.iter().any(|(_, by)| by.symbols().iter().any(|symbol| own.iter().any(|(name, _)| name == symbol)));
    if !clash {
        return own.iter().fold(formula.clone(), |formula, (name, by)| formula.substitute(name, by));
    }
    // No name of a model has a space, so these stand apart from everything.
    let apart = |name: &str| format!("{name} replaced");
    let moved = own.iter().fold(formula.clone(), |formula, (name, _)| formula.substitute(name, &Formula::symbol(&apart(name))));
    own.iter().fold(moved, |formula, (name, by)| formula.substitute(&apart(name), by))
}

/// A computer with all names replaced.
pub(crate) fn computer(computer: &Computer, bindings: &[(String, Formula)]) -> Computer {
    match bindings.iter().find(|(name, _)| *name == computer.0) {
        Some((_, by)) => Computer(called(by)),
        None => computer.clone(),
    }
}

/// What a formula is called where a name is expected: a symbol by its bare name, anything else as it is written.
pub(crate) fn called(formula: &Formula) -> String {
    as_symbol(formula).unwrap_or_else(|| formula.to_string())
}

/// The name of a formula that is one symbol.
pub(crate) fn as_symbol(formula: &Formula) -> Option<String> {
    if formula.as_exact().is_some() || formula.len() != 1 {
        return None;
    }
    formula.symbols().into_iter().next().filter(|name| Formula::symbol(name) == *formula)
}

/// A name that is not among those taken, as near to the one wanted as it can be.
pub(crate) fn unused(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
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
        let exchanged = replaced(&formula("a - 2*b"), &[("a".into(), formula("b + 1")), ("b".into(), formula("a"))]);
        assert_eq!(exchanged, formula("b + 1 - 2*a"));
    }

    #[test]
    fn a_computer_is_a_name_or_a_number() {
        let bindings = [("w".into(), formula("0")), ("v".into(), formula("i"))];
        let named = |name: &str| computer(&Computer(name.into()), &bindings).0;
        assert_eq!([named("w"), named("v"), named("u")], ["0", "i", "u"]);
    }
}
