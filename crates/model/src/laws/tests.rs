//! What the papers print, and what follows from it, exactly.

use sintonia_formula::{Formula, Interval, Rational, Values};

use super::*;

fn formula(text: &str) -> Formula {
    text.parse().unwrap()
}

fn of(law: &Law, of: Quantity) -> Formula {
    law.formula(of).unwrap()
}

/// The formula in the symbols that are measured: what is defined by others is replaced.
fn in_terms_of_measured(law: &Law, formula: Formula) -> Formula {
    [Quantity::Granularity, Quantity::Tasks]
        .into_iter()
        .filter_map(|quantity| Some((quantity.symbol(), law.formula(quantity)?)))
        .fold(formula, |formula, (symbol, meaning)| formula.substitute(symbol, &meaning))
}

/// Numbers that look random and are the same in every run, each a fraction.
fn fractions() -> impl FnMut() -> Rational {
    let mut state = 5u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as i64
    };
    move || fraction(next() % 997 + 1, next() % 89 + 1)
}

/// Whether two formulas have the same exact value at many fractions.
fn agree(a: &Formula, b: &Formula) -> bool {
    let mut next = fractions();
    let symbols: Vec<String> = a.symbols().union(&b.symbols()).cloned().collect();
    (0..200).all(|_| {
        let values = symbols.iter().fold(Values::new(), |values, symbol| values.with(symbol, next()));
        let value = a.exact_value(&values);
        value.is_some() && value == b.exact_value(&values)
    })
}

#[test]
fn every_text_is_a_formula_of_the_laws_own_symbols() {
    for law in LAWS {
        for equation in law.equations {
            for symbol in equation.formula().symbols() {
                let wanted = equation.of == Quantity::NodesForEfficiency && symbol == "E";
                assert!(wanted || law.symbol(&symbol).is_some(), "{}: {} has {symbol}", law.name, equation.text);
            }
        }
        assert!(law.says.ends_with('.') && law.equations.iter().filter(|one| one.of == Quantity::Time).count() == 1, "{}", law.name);
    }
}

#[test]
fn names_are_unique_and_lead_to_the_law() {
    for law in LAWS {
        assert_eq!(Law::named(law.name), Some(law));
        for (place, equation) in law.equations.iter().enumerate() {
            assert!(law.equations[..place].iter().all(|other| other.of != equation.of), "{} twice in {}", equation.of.symbol(), law.name);
        }
    }
    assert_eq!(Law::named("murphy"), None);
}

#[test]
fn the_equations_are_those_that_are_printed() {
    let printed = [
        ("adjacent", Quantity::Time, "Lc + MT/F"),
        ("store-and-forward", Quantity::Latency, "(1/F)*(PT/L)*d"),
        ("store-and-forward", Quantity::Time, "(1/F)*(PT/L)*(d+1)"),
        ("wormhole", Quantity::Latency, "d/F"),
        ("amdahl", Quantity::TimeAlone, "TS+TP"),
        ("amdahl", Quantity::Time, "TS + TP/N"),
        ("amdahl", Quantity::SpeedUp, "N*(TS+TP)/(N*TS+TP)"),
        ("amdahl", Quantity::Efficiency, "(TS+TP)/(N*TS+TP)"),
        ("all-to-one-simple", Quantity::Granularity, "RM/CM"),
        ("all-to-one-simple", Quantity::TasksPerNode, "M/N"),
        ("all-to-one-simple", Quantity::Time, "RM*M/N + CM*M"),
        ("all-to-one-simple", Quantity::SpeedUp, "(G+1)*N/(G+N)"),
        ("all-to-one-simple", Quantity::Efficiency, "(G+1)/(G+N)"),
        ("all-to-one-simple", Quantity::SpeedUpLimit, "G+1"),
        ("all-to-one-composite", Quantity::TimeAlone, "M*RM"),
        ("all-to-one-composite", Quantity::Time, "max(RM*M/N, CM*M)"),
        ("all-to-one-composite", Quantity::SpeedUpLimit, "G"),
        ("ray-tracing", Quantity::Tasks, "X*Y/(a*b)"),
        ("ray-tracing", Quantity::MessageSize, "a*b"),
        ("ray-tracing", Quantity::Time, "R*M/N + X*Y*(Lc/(a*b) + 1/F)"),
    ];
    for (law, quantity, text) in printed {
        assert_eq!(of(Law::named(law).unwrap(), quantity), formula(text), "{law}");
    }
}

#[test]
fn the_composite_node_is_printed_in_two_parts() {
    let law = Law::named("all-to-one-composite").unwrap();
    let at = |quantity: Quantity, n: i64, g: i64| of(law, quantity).exact_value(&Values::from([("N", whole(n)), ("G", whole(g))]));
    for g in [1, 2, 40, 1000] {
        for n in 1..=2 * g.min(50) {
            let (speed, share) = if n <= g { (whole(n), whole(1)) } else { (whole(g), fraction(g, n)) };
            assert_eq!((at(Quantity::SpeedUp, n, g), at(Quantity::Efficiency, n, g)), (Some(speed), Some(share)), "N = {n}, G = {g}");
        }
    }
}

fn whole(number: i64) -> Rational {
    fraction(number, 1)
}

fn fraction(over: i64, under: i64) -> Rational {
    Rational::new(over, under).unwrap()
}

/// A share that grows with a number, below 1.
fn share(number: &Rational) -> Rational {
    number.clone() * (number.clone() + whole(1)).inverse().unwrap()
}

#[test]
fn efficiency_is_speed_up_over_nodes() {
    for law in LAWS.into_iter().filter(|law| law.equation(Quantity::SpeedUp).is_some()) {
        let over_nodes = of(law, Quantity::SpeedUp) / formula("N");
        assert!(agree(&over_nodes, &of(law, Quantity::Efficiency)), "{}", law.name);
    }
    for name in ["amdahl", "all-to-one-simple", "ray-tracing"] {
        let law = Law::named(name).unwrap();
        assert_eq!(of(law, Quantity::SpeedUp) / formula("N"), of(law, Quantity::Efficiency), "{name}, as formulas");
    }
}

#[test]
fn speed_up_is_the_time_of_one_node_over_the_time_of_all() {
    for law in LAWS.into_iter().filter(|law| law.equation(Quantity::SpeedUp).is_some()) {
        let [time, alone, speed] =
            [Quantity::Time, Quantity::TimeAlone, Quantity::SpeedUp].map(|quantity| in_terms_of_measured(law, of(law, quantity)));
        assert!(agree(&(&alone / &time), &speed), "{}", law.name);
    }
    for name in ["amdahl", "all-to-one-simple"] {
        let law = Law::named(name).unwrap();
        let [time, alone, speed] =
            [Quantity::Time, Quantity::TimeAlone, Quantity::SpeedUp].map(|quantity| in_terms_of_measured(law, of(law, quantity)));
        assert_eq!(alone / time, speed, "{name}, as formulas");
    }
}

#[test]
fn one_node_alone_takes_the_time_of_the_law_at_one_node() {
    for name in ["amdahl", "all-to-one-simple", "ray-tracing"] {
        let law = Law::named(name).unwrap();
        assert_eq!(of(law, Quantity::Time).substitute("N", &Formula::one()), of(law, Quantity::TimeAlone), "{name}");
    }
}

#[test]
fn limits_are_those_for_ever_more_nodes() {
    let limits = [
        (Quantity::Time, Quantity::TimeLimit),
        (Quantity::SpeedUp, Quantity::SpeedUpLimit),
        (Quantity::Efficiency, Quantity::EfficiencyLimit),
    ];
    let mut next = fractions();
    for law in LAWS {
        for (quantity, limit) in limits {
            let (Some(formula), Some(limit)) = (law.formula(quantity), law.formula(limit)) else { continue };
            for _ in 0..50 {
                let values = law.symbols.iter().fold(Values::new(), |values, symbol| values.with(symbol.name, next()));
                let expected = limit.exact_value(&values).unwrap();
                let off = |nodes: i64| {
                    let value = formula.exact_value(&values.clone().with("N", whole(nodes))).unwrap();
                    if value > expected { value - expected.clone() } else { expected.clone() - value }
                };
                // What is missing to the limit falls at least as 1/N does.
                let (some, many) = (off(1_000_000_000), off(100_000_000_000_000));
                assert!(many.clone() * whole(99_000) <= some || many == whole(0), "{} {}: {some} {many}", law.name, quantity.symbol());
            }
        }
    }
}

#[test]
fn limits_are_what_remains_of_the_formula_when_one_over_nodes_is_nothing() {
    for (name, quantity, limit) in [
        ("amdahl", Quantity::Time, Quantity::TimeLimit),
        ("amdahl", Quantity::SpeedUp, Quantity::SpeedUpLimit),
        ("amdahl", Quantity::Efficiency, Quantity::EfficiencyLimit),
        ("all-to-one-simple", Quantity::Time, Quantity::TimeLimit),
        ("all-to-one-simple", Quantity::SpeedUp, Quantity::SpeedUpLimit),
        ("all-to-one-simple", Quantity::Efficiency, Quantity::EfficiencyLimit),
        ("gustafson", Quantity::Efficiency, Quantity::EfficiencyLimit),
        ("ray-tracing", Quantity::Time, Quantity::TimeLimit),
    ] {
        let law = Law::named(name).unwrap();
        let many = of(law, quantity).substitute("N", &formula("1/e")).substitute("e", &Formula::zero());
        assert_eq!(many, of(law, limit), "{name} {}", quantity.symbol());
    }
}

#[test]
fn composite_nodes_are_at_their_limit_as_soon_as_there_are_as_many_as_the_granularity() {
    let law = Law::named("all-to-one-composite").unwrap();
    for g in [1, 7, 40, 1000] {
        for n in [g, g + 1, 10 * g, 1_000_000 * g] {
            let at = |quantity| of(law, quantity).exact_value(&Values::from([("N", whole(n)), ("G", whole(g))])).unwrap();
            assert_eq!(at(Quantity::SpeedUp), at(Quantity::SpeedUpLimit), "N = {n}, G = {g}");
            assert_eq!(at(Quantity::Efficiency) * whole(n), whole(g), "so the efficiency comes to nothing");
            let times = Values::from([("N", whole(n)), ("RM", whole(3 * g)), ("CM", whole(3)), ("M", whole(5))]);
            assert_eq!(of(law, Quantity::Time).exact_value(&times), of(law, Quantity::TimeLimit).exact_value(&times));
        }
    }
}

#[test]
fn the_wanted_efficiency_is_that_at_the_nodes_for_it() {
    for law in LAWS.into_iter().filter(|law| law.equation(Quantity::NodesForEfficiency).is_some()) {
        let (mut next, mut compared) = (fractions(), 0);
        for _ in 0..300 {
            let wanted = share(&next());
            let values =
                law.symbols.iter().fold(Values::new(), |values, symbol| values.with(symbol.name, next())).with("E", wanted.clone());
            let Some(nodes) = of(law, Quantity::NodesForEfficiency).exact_value(&values) else { continue };
            if nodes >= whole(1) {
                let found = of(law, Quantity::Efficiency).exact_value(&values.with("N", nodes));
                assert_eq!(found, Some(wanted), "{}", law.name);
                compared += 1;
            }
        }
        assert!(compared > 50, "{}: {compared}", law.name);
    }
}

#[test]
fn composite_nodes_saturate_where_there_are_as_many_as_the_granularity() {
    let law = Law::named("all-to-one-composite").unwrap();
    let [computing, communicating] = ["RM*M/N", "CM*M"].map(formula);
    let at_granularity = of(law, Quantity::Granularity);
    assert_eq!(computing.substitute("N", &at_granularity), communicating);
    let case = law.with([("R", 0.75), ("C", 0.02), ("M", 64.0)].map(|(name, value)| (name, Interval::point(value)))).unwrap();
    let best = case.at(Quantity::BestNodes, &[]).unwrap();
    assert_eq!((best.low(), best.high()), (38.0, 38.0));
}

#[test]
fn the_image_in_tiles_is_all_to_one_with_messages_of_one_tile() {
    let (tiles, general, message) =
        (Law::named("ray-tracing").unwrap(), Law::named("all-to-one-simple").unwrap(), Law::named("adjacent").unwrap());
    let overhead = of(message, Quantity::Time).substitute("MT", &of(tiles, Quantity::MessageSize));
    assert_eq!(overhead, of(tiles, Quantity::Overhead));
    let time = of(general, Quantity::Time).substitute("CM", &overhead).substitute("RM", &formula("R"));
    let tasks = of(tiles, Quantity::Tasks);
    assert_eq!(time.substitute("M", &tasks), of(tiles, Quantity::Time).substitute("M", &tasks));
}

#[test]
fn cut_through_lies_between_wormhole_and_store_and_forward() {
    let time = |name: &str| of(Law::named(name).unwrap(), Quantity::Time);
    let cut_through = |busy: i64| time("virtual-cut-through").substitute("B", &Formula::integer(busy));
    assert_eq!(cut_through(1), time("store-and-forward"));
    assert_eq!(cut_through(0).substitute("H", &formula("L")), time("wormhole"));
    let neighbours = |name: &str| time(name).substitute("d", &Formula::zero());
    assert!(["store-and-forward", "wormhole", "virtual-cut-through"].iter().all(|name| neighbours(name) == formula("PT/L/F")));
}

#[test]
fn time_is_the_latency_and_the_packet_itself() {
    for name in ["store-and-forward", "wormhole", "virtual-cut-through"] {
        let law = Law::named(name).unwrap();
        assert_eq!(of(law, Quantity::Latency) + formula("PT/L/F"), of(law, Quantity::Time), "{name}");
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
                    let values = formula.symbols().iter().fold(Values::new(), |values, symbol| {
                        let value = if ["B", "E"].contains(&symbol.as_str()) { share(&next()) } else { next() };
                        values.with(symbol, value)
                    });
                    let largest = if ["B", "E"].contains(&symbol.as_str()) { 20 } else { 1 };
                    let steps = (1..=20).map(|step| fraction(step, largest));
                    // Where the efficiency is had by any number of nodes, there is no value.
                    let along: Vec<Rational> = steps.filter_map(|step| formula.exact_value(&values.clone().with(&symbol, step))).collect();
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
    let near = |found: Interval, value: f64| (found.middle() - value).abs() < 1e-9 && found.width() < 1e-9;
    let simple = Law::named("all-to-one-simple").unwrap().with(values()).unwrap();
    assert!(near(simple.at(Quantity::Granularity, &[]).unwrap(), 40.0));
    assert!(near(simple.at(Quantity::SpeedUp, &[("N", 40.0)]).unwrap(), 20.5));
    assert!(near(simple.at(Quantity::Time, &[("N", 8.0)]).unwrap(), 0.8 * 64.0 / 8.0 + 0.02 * 64.0));
    assert!(near(simple.at(Quantity::SpeedUpLimit, &[]).unwrap(), 41.0));
    assert!(near(simple.at(Quantity::NodesForEfficiency, &[("E", 0.5)]).unwrap(), 42.0));
    assert_eq!(simple.formula(Quantity::Time).unwrap(), formula("51.2/N + 1.28"));
    let composite = Law::named("all-to-one-composite").unwrap().with(values()).unwrap();
    assert!(near(composite.at(Quantity::SpeedUp, &[("N", 39.0)]).unwrap(), 39.0));
    assert!(near(composite.at(Quantity::SpeedUp, &[("N", 64.0)]).unwrap(), 40.0));
}

#[test]
fn intervals_of_symbols_give_the_narrowest_interval() {
    let law = Law::named("all-to-one-simple").unwrap();
    let case = law.with([("G", Interval::new(30.0, 50.0).unwrap())]).unwrap();
    let speed = case.at(Quantity::SpeedUp, &[("N", 10.0)]).unwrap();
    assert!((speed.low() - 7.75).abs() < 1e-12 && (speed.high() - 8.5).abs() < 1e-12, "{speed:?}");
}

#[test]
fn what_has_a_value_is_not_computed_from_others() {
    let [low, high] = [(0.5, 2.0), (1.0, 3.0)].map(|(low, high)| Interval::new(low, high).unwrap());
    let known = Interval::new(0.8, 1.2).unwrap();
    let case = Law::named("all-to-one-simple").unwrap().with([("R", low), ("C", high), ("G", known)]).unwrap();
    assert_eq!(case.at(Quantity::Granularity, &[]).unwrap(), known);
}

#[test]
fn granularity_alone_answers_for_speed_up_but_not_for_time() {
    let case = Law::named("all-to-one-simple").unwrap().with([("G", Interval::point(40.0))]).unwrap();
    assert!(case.at(Quantity::Efficiency, &[("N", 8.0)]).is_ok());
    let error = case.at(Quantity::Time, &[("N", 8.0)]).unwrap_err();
    assert_eq!(error.to_string(), "All to one, simple nodes needs CM (C), M, RM (R) for T");
    assert_eq!(case.at(Quantity::Latency, &[]).unwrap_err().to_string(), "All to one, simple nodes says nothing about Lc");
}

#[test]
fn a_law_without_a_serial_part_has_no_limit() {
    let case = Law::named("amdahl").unwrap().with([("serial", Interval::point(0.0)), ("parallel", Interval::point(8.0))]).unwrap();
    assert!(matches!(case.at(Quantity::SpeedUpLimit, &[]), Err(Unanswered::Undefined { .. })));
}

#[test]
fn values_that_a_law_cannot_have_are_refused_with_the_reason() {
    let law = Law::named("virtual-cut-through").unwrap();
    let refused =
        |values: &[(&str, f64)]| law.with(values.iter().map(|(name, value)| (*name, Interval::point(*value)))).unwrap_err().to_string();
    assert_eq!(refused(&[("Q", 1.0)]), "Virtual cut-through has no `Q`; it has P, L, F, d, header, busy");
    assert_eq!(refused(&[("P", 1.0), ("PT", 2.0)]), "`PT` is given twice");
    assert_eq!(refused(&[("busy", 2.0)]), "`B` (share of channels found busy, from 0 to 1) is 2: it must be from 0 to 1");
    assert!(refused(&[("L", -1.0)]).contains("is -1: it must be from 0 to inf"));
}

#[test]
fn the_book_has_every_law_with_every_equation() {
    let book = include_str!("../../../../docs/laws.md");
    for law in LAWS {
        assert!(book.contains(&format!("## {}", law.title)) && book.contains(&format!("`{}`", law.name)), "{}", law.name);
        for equation in law.equations {
            let line = format!("| {} | `{}` |", equation.of.symbol(), equation.text);
            assert!(book.contains(&line), "{}: {line}", law.name);
        }
    }
}
