//! Simplification while building preserves the value.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sintonia_formula::{Formula, Rational};

use crate::support::*;

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_formula_has_the_value_of_what_it_was_built_from(tree in flat(SYMBOLS.to_vec()), values in point()) {
        if let Some(expected) = tree.value(&values) {
            let formula = tree.formula();
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn a_formula_with_ranges_anywhere_has_the_value_of_what_it_was_built_from(
        tree in ranging(SYMBOLS.to_vec(), leaf(SYMBOLS.to_vec())), values in whole_point()
    ) {
        if let Some(expected) = tree.value(&values) {
            let formula = tree.formula();
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn sums_of_what_has_a_closed_form_are_closed_and_are_what_a_loop_adds_up(
        from in 0i64..=2, shift in -2i64..=3, body in closed_body("i"), values in whole_point()
    ) {
        let to = Tree::Add(Box::new(Tree::Symbol("n")), Box::new(Tree::Number(shift, 1)));
        let tree = Tree::Sum("i", Box::new(Tree::Number(from, 1)), Box::new(to), Box::new(body));
        let formula = tree.formula();
        prop_assert!(!formula.to_string().contains("sum("), "{}", formula);
        prop_assert_eq!(formula.evaluate_exact(&values), tree.value(&values), "{}", formula);
    }

    #[test]
    fn closed_sums_within_sums_are_what_two_loops_add_up(body in closed_body("j"), outer in closed_body("i"), values in whole_point()) {
        let inner = Tree::Sum("j", Box::new(Tree::Number(1, 1)), Box::new(Tree::Symbol("i")), Box::new(body));
        let product = Tree::Add(Box::new(inner), Box::new(outer));
        let tree = Tree::Sum("i", Box::new(Tree::Number(1, 1)), Box::new(Tree::Symbol("n")), Box::new(product));
        let formula = tree.formula();
        prop_assert_eq!(formula.evaluate_exact(&values), tree.value(&values), "{}", formula);
    }

    #[test]
    fn a_sum_is_what_a_loop_adds_up(tree in single_sum(), values in whole_point()) {
        if let Some(expected) = tree.value(&values) {
            let formula = tree.formula();
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn a_sum_within_a_sum_is_what_two_loops_add_up(tree in nested_sum(), values in whole_point()) {
        if let Some(expected) = tree.value(&values) {
            let formula = tree.formula();
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn a_maximum_over_a_range_is_the_largest_that_a_loop_finds(to in 0i64..12, tree in body("i", vec!["t", "p"]), values in whole_point()) {
        let tree = Tree::MaxOver("i", Box::new(Tree::Number(0, 1)), Box::new(Tree::Number(to, 1)), Box::new(tree));
        if let Some(expected) = tree.value(&values) {
            let formula = tree.formula();
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn extremes_and_sums_of_quotients_are_what_a_loop_finds(to in 1i64..12, tree in flat(vec!["i", "i", "t"]), values in whole_point()) {
        let (from, to) = (Box::new(Tree::Number(1, 1)), Box::new(Tree::Number(to, 1)));
        for tree in [Tree::MaxOver("i", from.clone(), to.clone(), Box::new(tree.clone())), Tree::Sum("i", from, to, Box::new(tree))] {
            if let Some(expected) = tree.value(&values) {
                let formula = tree.formula();
                prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
            }
        }
    }

    #[test]
    fn sums_and_products_obey_the_laws_of_a_ring(
        a in polynomial(SYMBOLS.to_vec()), b in polynomial(SYMBOLS.to_vec()), c in polynomial(SYMBOLS.to_vec())
    ) {
        let (a, b, c) = (a.formula(), b.formula(), c.formula());
        prop_assume!(a.len() * b.len() * c.len() < 200);
        prop_assert_eq!(&a + &b, &b + &a);
        prop_assert_eq!((&a + &b) + &c, &a + (&b + &c));
        prop_assert_eq!(&a * &b, &b * &a);
        prop_assert_eq!((&a * &b) * &c, &a * (&b * &c));
        prop_assert_eq!(&a * (&b + &c), &a * &b + &a * &c);
        prop_assert_eq!(&a - &a, Formula::zero());
        prop_assert_eq!(&a * Formula::one(), a.clone());
        prop_assert_eq!(&a * Formula::zero(), Formula::zero());
    }

    #[test]
    fn maxima_obey_the_laws_of_a_lattice(a in flat(SYMBOLS.to_vec()), b in flat(SYMBOLS.to_vec()), c in flat(SYMBOLS.to_vec())) {
        let (a, b, c) = (a.formula(), b.formula(), c.formula());
        let max = |x: &Formula, y: &Formula| Formula::max_of([x.clone(), y.clone()]);
        prop_assert_eq!(max(&a, &b), max(&b, &a));
        prop_assert_eq!(max(&a, &a), a.clone());
        prop_assert_eq!(Formula::max_of([a.clone(), b.clone(), c.clone()]), Formula::max_of([c, b, a]));
    }

    #[test]
    fn polynomials_are_equal_exactly_when_they_are_the_same_function(a in polynomial(vec!["n"]), b in polynomial(vec!["n"])) {
        // Two polynomials of degree at most 81 that agree at 82 points are the same.
        let (x, y) = (a.formula(), b.formula());
        let agree = (0..82).all(|n| {
            let values = [("n", rational(n, 1))].into();
            a.value(&values) == b.value(&values)
        });
        prop_assert_eq!(x == y, agree, "{} and {}", x, y);
    }

    #[test]
    fn polynomials_in_several_symbols_have_one_form(a in polynomial(SYMBOLS.to_vec()), b in polynomial(SYMBOLS.to_vec())) {
        // Expanded by other means, and built again from the result.
        let (Some(x), Some(y)) = (multiplied_out(&a), multiplied_out(&b)) else { return Ok(()) };
        prop_assert_eq!(a.formula() == b.formula(), x == y, "{} and {}", a.formula(), b.formula());
        let term = |(powers, coefficient): (&[i64; 3], &Rational)| {
            let factors = SYMBOLS.iter().zip(powers).map(|(name, power)| Formula::symbol(name).power(*power));
            factors.fold(Formula::from_rational(coefficient.clone()), |product, factor| factor * product)
        };
        prop_assert_eq!(x.iter().rev().map(term).sum::<Formula>(), a.formula());
    }

    #[test]
    fn substitution_commutes_with_evaluation(a in flat(SYMBOLS.to_vec()), b in flat(vec!["p", "t"]), values in point()) {
        let Some(inner) = b.value(&values).filter(|inner| !inner.is_negative()) else { return Ok(()) };
        let outer = values.clone().with_value("n", inner);
        if let Some(expected) = a.value(&outer) {
            let formula = a.formula().substitute("n", &b.formula());
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }

    #[test]
    fn substitution_into_a_sum_commutes_with_evaluation(tree in nested_sum(), shift in 0i64..4, values in whole_point()) {
        let outer = values.clone().with_value("n", values.get("n").expect("n has a value") + &rational(shift, 1));
        if let Some(expected) = tree.value(&outer) {
            let formula = tree.formula().substitute("n", &(Formula::symbol("n") + Formula::integer(shift)));
            prop_assert_eq!(formula.evaluate_exact(&values), Some(expected), "{}", formula);
        }
    }
}

/// The coefficients of a polynomial by the powers of its symbols; `None` if there are too many to be expanded in a formula.
fn multiplied_out(tree: &Tree) -> Option<BTreeMap<[i64; 3], Rational>> {
    let times = |a: &BTreeMap<[i64; 3], Rational>, b: &BTreeMap<[i64; 3], Rational>| {
        let mut product = BTreeMap::new();
        for ((x, c), (y, d)) in a.iter().flat_map(|one| b.iter().map(move |other| (one, other))) {
            let powers = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
            let sum = product.remove(&powers).unwrap_or(Rational::ZERO) + c * d;
            product.insert(powers, sum);
        }
        product
    };
    let plus = |a: BTreeMap<[i64; 3], Rational>, b: BTreeMap<[i64; 3], Rational>, sign: i64| {
        b.into_iter().fold(a, |mut sum, (powers, value)| {
            let value = sum.remove(&powers).unwrap_or(Rational::ZERO) + Rational::from(sign) * value;
            sum.insert(powers, value);
            sum
        })
    };
    let mut terms = match tree {
        Tree::Number(over, under) => BTreeMap::from([([0; 3], rational(*over, *under))]),
        Tree::Symbol(name) => BTreeMap::from([(SYMBOLS.map(|known| i64::from(known == *name)), Rational::ONE)]),
        Tree::Add(a, b) => plus(multiplied_out(a)?, multiplied_out(b)?, 1),
        Tree::Subtract(a, b) => plus(multiplied_out(a)?, multiplied_out(b)?, -1),
        Tree::Multiply(a, b) => times(&multiplied_out(a)?, &multiplied_out(b)?),
        Tree::Power(a, exponent) => {
            let base = multiplied_out(a).filter(|base| base.len() <= 7)?;
            (0..*exponent).fold(BTreeMap::from([([0; 3], Rational::ONE)]), |product, _| times(&product, &base))
        }
        other => panic!("not a polynomial: {other:?}"),
    };
    terms.retain(|_, coefficient| !coefficient.is_zero());
    (terms.len() <= 12).then_some(terms)
}

#[test]
fn the_name_of_an_index_does_not_matter() {
    let one = Formula::parse("sum(i=1..n, sqrt(i)*sum(j=1..i, log2(j + i)))").expect("a formula");
    let other = Formula::parse("sum(a=1..n, sqrt(a)*sum(i=1..a, log2(i + a)))").expect("a formula");
    assert_eq!(one, other);
    assert_eq!(one - other, Formula::zero());
}

#[test]
fn an_index_does_not_capture_a_symbol_of_the_same_name() {
    let sum = Formula::parse("sum(i=1..n, sqrt(i + m))").expect("a formula");
    let inside = sum.substitute("m", &Formula::symbol("i"));
    assert_eq!(inside.to_string(), "sum(i_=1..n, sqrt(i + i_))");
    let values = [("n", 3.0), ("i", 10.0)].into();
    let expected = 11f64.sqrt() + 12f64.sqrt() + 13f64.sqrt();
    assert!((inside.evaluate(&values).expect("a value") - expected).abs() < 1e-12);
}
