//! The published equations, and exact checks of the derived ones.

use sintonia_fit::SplitMix64;
use sintonia_formula::{Formula, Interval, Rational, SymbolValues};

use super::*;

fn formula(text: &str) -> Formula {
    text.parse().unwrap()
}

fn of(law: &PerformanceLaw, of: LawQuantity) -> Formula {
    law.formula(of).unwrap()
}

/// The formula in measured symbols, with defined symbols replaced.
fn in_terms_of_measured(law: &PerformanceLaw, formula: Formula) -> Formula {
    [LawQuantity::Granularity, LawQuantity::Tasks]
        .into_iter()
        .filter_map(|quantity| Some((quantity.symbol(), law.formula(quantity)?)))
        .fold(formula, |formula, (symbol, meaning)| formula.substitute(symbol, &meaning))
}

/// Reproducible pseudo-random fractions.
fn fractions() -> impl FnMut() -> Rational {
    let mut random = SplitMix64::new(5);
    move || fraction(random.index_below(997) as i64 + 1, random.index_below(89) as i64 + 1)
}

/// Whether two formulas are equal at many exact fractions.
fn agree(a: &Formula, b: &Formula) -> bool {
    let mut next = fractions();
    let symbols: Vec<String> = a.symbols().union(&b.symbols()).cloned().collect();
    (0..200).all(|_| {
        let values = symbols.iter().fold(SymbolValues::new(), |values, symbol| values.with_value(symbol, next()));
        let value = a.evaluate_exact(&values);
        value.is_some() && value == b.evaluate_exact(&values)
    })
}

#[test]
fn every_text_is_a_formula_of_the_laws_own_symbols() {
    for law in LAWS {
        for equation in law.equations {
            for symbol in equation.formula().symbols() {
                let wanted = equation.quantity == LawQuantity::NodesForEfficiency && symbol == "E";
                assert!(wanted || law.symbol(&symbol).is_some(), "{}: {} has {symbol}", law.name, equation.text);
            }
        }
        assert!(
            law.statement.ends_with('.') && law.equations.iter().filter(|one| one.quantity == LawQuantity::Time).count() == 1,
            "{}",
            law.name
        );
    }
}

#[test]
fn names_are_unique_and_lead_to_the_law() {
    for law in LAWS {
        assert_eq!(PerformanceLaw::from_name(law.name), Some(law));
        for (place, equation) in law.equations.iter().enumerate() {
            assert!(
                law.equations[..place].iter().all(|other| other.quantity != equation.quantity),
                "{} twice in {}",
                equation.quantity.symbol(),
                law.name
            );
        }
    }
    assert_eq!(PerformanceLaw::from_name("murphy"), None);
}

#[test]
fn the_equations_are_those_that_are_printed() {
    let printed = [
        ("adjacent", LawQuantity::Time, "Lc + MT/F"),
        ("store-and-forward", LawQuantity::Latency, "(1/F)*(PT/L)*d"),
        ("store-and-forward", LawQuantity::Time, "(1/F)*(PT/L)*(d+1)"),
        ("wormhole", LawQuantity::Latency, "d/F"),
        ("amdahl", LawQuantity::SerialTime, "TS+TP"),
        ("amdahl", LawQuantity::Time, "TS + TP/N"),
        ("amdahl", LawQuantity::SpeedUp, "N*(TS+TP)/(N*TS+TP)"),
        ("amdahl", LawQuantity::Efficiency, "(TS+TP)/(N*TS+TP)"),
        ("all-to-one-simple", LawQuantity::Granularity, "RM/CM"),
        ("all-to-one-simple", LawQuantity::TasksPerNode, "M/N"),
        ("all-to-one-simple", LawQuantity::Time, "RM*M/N + CM*M"),
        ("all-to-one-simple", LawQuantity::SpeedUp, "(G+1)*N/(G+N)"),
        ("all-to-one-simple", LawQuantity::Efficiency, "(G+1)/(G+N)"),
        ("all-to-one-simple", LawQuantity::SpeedUpLimit, "G+1"),
        ("all-to-one-composite", LawQuantity::SerialTime, "M*RM"),
        ("all-to-one-composite", LawQuantity::Time, "max(RM*M/N, CM*M)"),
        ("all-to-one-composite", LawQuantity::SpeedUpLimit, "G"),
        ("ray-tracing", LawQuantity::Tasks, "X*Y/(a*b)"),
        ("ray-tracing", LawQuantity::MessageSize, "a*b"),
        ("ray-tracing", LawQuantity::Time, "R*M/N + X*Y*(Lc/(a*b) + 1/F)"),
    ];
    for (law, quantity, text) in printed {
        assert_eq!(of(PerformanceLaw::from_name(law).unwrap(), quantity), formula(text), "{law}");
    }
}

#[test]
fn the_composite_node_is_printed_in_two_parts() {
    let law = PerformanceLaw::from_name("all-to-one-composite").unwrap();
    let at =
        |quantity: LawQuantity, n: i64, g: i64| of(law, quantity).evaluate_exact(&SymbolValues::from([("N", whole(n)), ("G", whole(g))]));
    for g in [1, 2, 40, 1000] {
        for n in 1..=2 * g.min(50) {
            let (speed, share) = if n <= g { (whole(n), whole(1)) } else { (whole(g), fraction(g, n)) };
            assert_eq!((at(LawQuantity::SpeedUp, n, g), at(LawQuantity::Efficiency, n, g)), (Some(speed), Some(share)), "N = {n}, G = {g}");
        }
    }
}

fn whole(number: i64) -> Rational {
    fraction(number, 1)
}

fn fraction(over: i64, under: i64) -> Rational {
    Rational::new(over, under).unwrap()
}

/// A share below 1 that increases with a number.
fn share(number: &Rational) -> Rational {
    number.clone() * (number.clone() + whole(1)).recip().unwrap()
}

#[test]
fn efficiency_is_speed_up_over_nodes() {
    for law in LAWS.into_iter().filter(|law| law.equation(LawQuantity::SpeedUp).is_some()) {
        let over_nodes = of(law, LawQuantity::SpeedUp) / formula("N");
        assert!(agree(&over_nodes, &of(law, LawQuantity::Efficiency)), "{}", law.name);
    }
    for name in ["amdahl", "all-to-one-simple", "ray-tracing"] {
        let law = PerformanceLaw::from_name(name).unwrap();
        assert_eq!(of(law, LawQuantity::SpeedUp) / formula("N"), of(law, LawQuantity::Efficiency), "{name}, as formulas");
    }
}

#[test]
fn speed_up_is_the_time_of_one_node_over_the_time_of_all() {
    for law in LAWS.into_iter().filter(|law| law.equation(LawQuantity::SpeedUp).is_some()) {
        let [time, alone, speed] =
            [LawQuantity::Time, LawQuantity::SerialTime, LawQuantity::SpeedUp].map(|quantity| in_terms_of_measured(law, of(law, quantity)));
        assert!(agree(&(&alone / &time), &speed), "{}", law.name);
    }
    for name in ["amdahl", "all-to-one-simple"] {
        let law = PerformanceLaw::from_name(name).unwrap();
        let [time, alone, speed] =
            [LawQuantity::Time, LawQuantity::SerialTime, LawQuantity::SpeedUp].map(|quantity| in_terms_of_measured(law, of(law, quantity)));
        assert_eq!(alone / time, speed, "{name}, as formulas");
    }
}

#[test]
fn one_node_alone_takes_the_time_of_the_law_at_one_node() {
    for name in ["amdahl", "all-to-one-simple", "ray-tracing"] {
        let law = PerformanceLaw::from_name(name).unwrap();
        assert_eq!(of(law, LawQuantity::Time).substitute("N", &Formula::one()), of(law, LawQuantity::SerialTime), "{name}");
    }
}

#[test]
fn limits_are_those_for_ever_more_nodes() {
    let limits = [
        (LawQuantity::Time, LawQuantity::TimeLimit),
        (LawQuantity::SpeedUp, LawQuantity::SpeedUpLimit),
        (LawQuantity::Efficiency, LawQuantity::EfficiencyLimit),
    ];
    let mut next = fractions();
    for law in LAWS {
        for (quantity, limit) in limits {
            let (Some(formula), Some(limit)) = (law.formula(quantity), law.formula(limit)) else { continue };
            for _ in 0..50 {
                let values = law.symbols.iter().fold(SymbolValues::new(), |values, symbol| values.with_value(symbol.name, next()));
                let expected = limit.evaluate_exact(&values).unwrap();
                let off = |nodes: i64| {
                    let value = formula.evaluate_exact(&values.clone().with_value("N", whole(nodes))).unwrap();
                    if value > expected { value - expected.clone() } else { expected.clone() - value }
                };
                // The distance to the limit decreases at least like 1/N.
                let (some, many) = (off(1_000_000_000), off(100_000_000_000_000));
                assert!(many.clone() * whole(99_000) <= some || many == whole(0), "{} {}: {some} {many}", law.name, quantity.symbol());
            }
        }
    }
}

#[test]
fn limits_are_what_remains_of_the_formula_when_one_over_nodes_is_nothing() {
    for (name, quantity, limit) in [
        ("amdahl", LawQuantity::Time, LawQuantity::TimeLimit),
        ("amdahl", LawQuantity::SpeedUp, LawQuantity::SpeedUpLimit),
        ("amdahl", LawQuantity::Efficiency, LawQuantity::EfficiencyLimit),
        ("all-to-one-simple", LawQuantity::Time, LawQuantity::TimeLimit),
        ("all-to-one-simple", LawQuantity::SpeedUp, LawQuantity::SpeedUpLimit),
        ("all-to-one-simple", LawQuantity::Efficiency, LawQuantity::EfficiencyLimit),
        ("gustafson", LawQuantity::Efficiency, LawQuantity::EfficiencyLimit),
        ("ray-tracing", LawQuantity::Time, LawQuantity::TimeLimit),
    ] {
        let law = PerformanceLaw::from_name(name).unwrap();
        let many = of(law, quantity).substitute("N", &formula("1/e")).substitute("e", &Formula::zero());
        assert_eq!(many, of(law, limit), "{name} {}", quantity.symbol());
    }
}

#[test]
fn composite_nodes_are_at_their_limit_as_soon_as_there_are_as_many_as_the_granularity() {
    let law = PerformanceLaw::from_name("all-to-one-composite").unwrap();
    for g in [1, 7, 40, 1000] {
        for n in [g, g + 1, 10 * g, 1_000_000 * g] {
            let at = |quantity| of(law, quantity).evaluate_exact(&SymbolValues::from([("N", whole(n)), ("G", whole(g))])).unwrap();
            assert_eq!(at(LawQuantity::SpeedUp), at(LawQuantity::SpeedUpLimit), "N = {n}, G = {g}");
            assert_eq!(at(LawQuantity::Efficiency) * whole(n), whole(g), "so the efficiency comes to nothing");
            let times = SymbolValues::from([("N", whole(n)), ("RM", whole(3 * g)), ("CM", whole(3)), ("M", whole(5))]);
            assert_eq!(of(law, LawQuantity::Time).evaluate_exact(&times), of(law, LawQuantity::TimeLimit).evaluate_exact(&times));
        }
    }
}

#[test]
fn the_wanted_efficiency_is_that_at_the_nodes_for_it() {
    for law in LAWS.into_iter().filter(|law| law.equation(LawQuantity::NodesForEfficiency).is_some()) {
        let (mut next, mut compared) = (fractions(), 0);
        for _ in 0..300 {
            let wanted = share(&next());
            let values = law
                .symbols
                .iter()
                .fold(SymbolValues::new(), |values, symbol| values.with_value(symbol.name, next()))
                .with_value("E", wanted.clone());
            let Some(nodes) = of(law, LawQuantity::NodesForEfficiency).evaluate_exact(&values) else { continue };
            if nodes >= whole(1) {
                let found = of(law, LawQuantity::Efficiency).evaluate_exact(&values.with_value("N", nodes));
                assert_eq!(found, Some(wanted), "{}", law.name);
                compared += 1;
            }
        }
        assert!(compared > 50, "{}: {compared}", law.name);
    }
}

#[test]
fn composite_nodes_saturate_where_there_are_as_many_as_the_granularity() {
    let law = PerformanceLaw::from_name("all-to-one-composite").unwrap();
    let [computing, communicating] = ["RM*M/N", "CM*M"].map(formula);
    let at_granularity = of(law, LawQuantity::Granularity);
    assert_eq!(computing.substitute("N", &at_granularity), communicating);
    let case = law.with_values([("R", 0.75), ("C", 0.02), ("M", 64.0)].map(|(name, value)| (name, Interval::point(value)))).unwrap();
    let best = case.evaluate_at(LawQuantity::BestNodes, &[]).unwrap();
    assert_eq!((best.low(), best.high()), (38.0, 38.0));
}

#[test]
fn the_image_in_tiles_is_all_to_one_with_messages_of_one_tile() {
    let (tiles, general, message) = (
        PerformanceLaw::from_name("ray-tracing").unwrap(),
        PerformanceLaw::from_name("all-to-one-simple").unwrap(),
        PerformanceLaw::from_name("adjacent").unwrap(),
    );
    let overhead = of(message, LawQuantity::Time).substitute("MT", &of(tiles, LawQuantity::MessageSize));
    assert_eq!(overhead, of(tiles, LawQuantity::Overhead));
    let time = of(general, LawQuantity::Time).substitute("CM", &overhead).substitute("RM", &formula("R"));
    let tasks = of(tiles, LawQuantity::Tasks);
    assert_eq!(time.substitute("M", &tasks), of(tiles, LawQuantity::Time).substitute("M", &tasks));
}

#[test]
fn cut_through_lies_between_wormhole_and_store_and_forward() {
    let time = |name: &str| of(PerformanceLaw::from_name(name).unwrap(), LawQuantity::Time);
    let cut_through = |busy: i64| time("virtual-cut-through").substitute("B", &Formula::integer(busy));
    assert_eq!(cut_through(1), time("store-and-forward"));
    assert_eq!(cut_through(0).substitute("H", &formula("L")), time("wormhole"));
    let neighbours = |name: &str| time(name).substitute("d", &Formula::zero());
    assert!(["store-and-forward", "wormhole", "virtual-cut-through"].iter().all(|name| neighbours(name) == formula("PT/L/F")));
}

#[test]
fn time_is_the_latency_and_the_packet_itself() {
    for name in ["store-and-forward", "wormhole", "virtual-cut-through"] {
        let law = PerformanceLaw::from_name(name).unwrap();
        assert_eq!(of(law, LawQuantity::Latency) + formula("PT/L/F"), of(law, LawQuantity::Time), "{name}");
    }
}

#[test]
fn each_formula_rises_or_falls_with_each_of_its_symbols_all_the_way() {
    for law in LAWS {
        for equation in law.equations {
            let formula = equation.formula();
            let mut next = fractions();
            for symbol in formula.symbols() {
                for _ in 0..20 {
                    let values = formula.symbols().iter().fold(SymbolValues::new(), |values, symbol| {
                        let value = if ["B", "E"].contains(&symbol.as_str()) { share(&next()) } else { next() };
                        values.with_value(symbol, value)
                    });
                    let largest = if ["B", "E"].contains(&symbol.as_str()) { 20 } else { 1 };
                    let steps = (1..=20).map(|step| fraction(step, largest));
                    // If any number of nodes has this efficiency, there is no value.
                    let along: Vec<Rational> =
                        steps.filter_map(|step| formula.evaluate_exact(&values.clone().with_value(&symbol, step))).collect();
                    let (rises, falls) = (along.is_sorted(), along.iter().rev().is_sorted());
                    assert!(rises || falls, "{}: {} in {symbol}: {along:?}", law.name, equation.text);
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_command_gives_the_figures_of_the_paper() {
    let values = || [("R", 0.8), ("C", 0.02), ("M", 64.0)].map(|(name, value)| (name, Interval::point(value)));
    let near = |found: Interval, value: f64| (found.midpoint() - value).abs() < 1e-9 && found.width() < 1e-9;
    let simple = PerformanceLaw::from_name("all-to-one-simple").unwrap().with_values(values()).unwrap();
    assert!(near(simple.evaluate_at(LawQuantity::Granularity, &[]).unwrap(), 40.0));
    assert!(near(simple.evaluate_at(LawQuantity::SpeedUp, &[("N", 40.0)]).unwrap(), 20.5));
    assert!(near(simple.evaluate_at(LawQuantity::Time, &[("N", 8.0)]).unwrap(), 0.8 * 64.0 / 8.0 + 0.02 * 64.0));
    assert!(near(simple.evaluate_at(LawQuantity::SpeedUpLimit, &[]).unwrap(), 41.0));
    assert!(near(simple.evaluate_at(LawQuantity::NodesForEfficiency, &[("E", 0.5)]).unwrap(), 42.0));
    assert_eq!(simple.formula(LawQuantity::Time).unwrap(), formula("51.2/N + 1.28"));
    let composite = PerformanceLaw::from_name("all-to-one-composite").unwrap().with_values(values()).unwrap();
    assert!(near(composite.evaluate_at(LawQuantity::SpeedUp, &[("N", 39.0)]).unwrap(), 39.0));
    assert!(near(composite.evaluate_at(LawQuantity::SpeedUp, &[("N", 64.0)]).unwrap(), 40.0));
}

#[test]
fn intervals_of_symbols_give_the_narrowest_interval() {
    let law = PerformanceLaw::from_name("all-to-one-simple").unwrap();
    let case = law.with_values([("G", Interval::new(30.0, 50.0).unwrap())]).unwrap();
    let speed = case.evaluate_at(LawQuantity::SpeedUp, &[("N", 10.0)]).unwrap();
    assert!((speed.low() - 7.75).abs() < 1e-12 && (speed.high() - 8.5).abs() < 1e-12, "{speed:?}");
}

#[test]
fn what_has_a_value_is_not_computed_from_others() {
    let [low, high] = [(0.5, 2.0), (1.0, 3.0)].map(|(low, high)| Interval::new(low, high).unwrap());
    let known = Interval::new(0.8, 1.2).unwrap();
    let case = PerformanceLaw::from_name("all-to-one-simple").unwrap().with_values([("R", low), ("C", high), ("G", known)]).unwrap();
    assert_eq!(case.evaluate_at(LawQuantity::Granularity, &[]).unwrap(), known);
}

#[test]
fn granularity_alone_answers_for_speed_up_but_not_for_time() {
    let case = PerformanceLaw::from_name("all-to-one-simple").unwrap().with_values([("G", Interval::point(40.0))]).unwrap();
    assert!(case.evaluate_at(LawQuantity::Efficiency, &[("N", 8.0)]).is_ok());
    let error = case.evaluate_at(LawQuantity::Time, &[("N", 8.0)]).unwrap_err();
    assert_eq!(error.to_string(), "All to one, simple nodes needs CM (C), M, RM (R) for T");
    assert_eq!(case.evaluate_at(LawQuantity::Latency, &[]).unwrap_err().to_string(), "All to one, simple nodes has no equation for Lc");
}

#[test]
fn a_law_without_a_serial_part_has_no_limit() {
    let case = PerformanceLaw::from_name("amdahl")
        .unwrap()
        .with_values([("serial", Interval::point(0.0)), ("parallel", Interval::point(8.0))])
        .unwrap();
    assert!(matches!(case.evaluate_at(LawQuantity::SpeedUpLimit, &[]), Err(LawEvaluationError::Undefined { .. })));
}

#[test]
fn values_that_a_law_cannot_have_are_refused_with_the_reason() {
    let law = PerformanceLaw::from_name("virtual-cut-through").unwrap();
    let refused = |values: &[(&str, f64)]| {
        law.with_values(values.iter().map(|(name, value)| (*name, Interval::point(*value)))).unwrap_err().to_string()
    };
    assert_eq!(refused(&[("Q", 1.0)]), "Virtual cut-through has no symbol `Q`; its symbols are P, L, F, d, header, busy");
    assert_eq!(refused(&[("P", 1.0), ("PT", 2.0)]), "`PT` is given twice");
    assert_eq!(refused(&[("busy", 2.0)]), "`B` (share of channels found busy, from 0 to 1) is 2: it must be between 0 and 1");
    assert!(refused(&[("L", -1.0)]).contains("is -1: it must be between 0 and inf"));
}

#[test]
fn the_book_has_every_law_with_every_equation() {
    let book = include_str!("../../../../docs/laws.md");
    for law in LAWS {
        assert!(book.contains(&format!("## {}", law.title)) && book.contains(&format!("`{}`", law.name)), "{}", law.name);
        for equation in law.equations {
            let line = format!("| {} | `{}` |", equation.quantity.symbol(), equation.text);
            assert!(book.contains(&line), "{}: {line}", law.name);
        }
    }
}
