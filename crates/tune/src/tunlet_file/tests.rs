//! Tunlets from files, with hand-made events.

use sintonia_link::probe_protocol::{ActionRepeat, HookSide};

use super::*;
use crate::statistics::RunningStats;
use crate::tuning_points::{Actor, CallArgument, EventJoin, TuningMoment, TuningTarget};
use crate::tunlets;

fn read(text: &str) -> FileTunlet {
    parse(text, Path::new("my.tunlet")).unwrap_or_else(|error| panic!("{error}"))
}

fn failure(text: &str) -> String {
    parse(text, Path::new("my.tunlet")).err().unwrap_or_else(|| panic!("this is wrong:\n{text}")).to_string()
}

fn event(point: usize, rank: u32, side: HookSide, time: f64, values: &[f64]) -> PointEvent {
    PointEvent { point, rank, side, time, values: values.to_vec(), change: 0 }
}

fn changes(actions: &[TuningAction]) -> Vec<(usize, f64)> {
    let change = |action: &TuningAction| match action {
        TuningAction::Change { point, value, .. } => Some((*point, *value)),
        _ => None,
    };
    actions.iter().filter_map(change).collect()
}

fn tells(actions: &[TuningAction]) -> Vec<String> {
    let tell = |action: &TuningAction| if let TuningAction::Report(text) = action { Some(text.clone()) } else { None };
    actions.iter().filter_map(tell).collect()
}

/// A measure of a function `step`, followed by `rest`.
fn step(rest: &str) -> String {
    format!("[[measure]]\nname = \"step\"\nfunction = \"step\"\nvalues = [\"load\"]\n{rest}")
}

/// A tune of a variable, followed by `rest`.
fn chunk(rest: &str) -> String {
    step(&format!("[[tune]]\nvariable = \"chunk\"\nrange = [1, 100]\n{rest}"))
}

/// Passes a step event with this load; returns the changes.
fn changes_at(tunlet: &mut FileTunlet, time: f64, load: f64) -> Vec<(usize, f64)> {
    changes(&tunlet.on_event(&event(0, 0, HookSide::Entry, time, &[load])))
}

#[test]
fn a_file_decides_like_the_built_in_tunlet() {
    let mut file = read(include_str!("../../../../docs/tunlets/factoring.tunlet"));
    let mut built_in = tunlets::open_tunlet("factoring").expect("a tunlet");
    let points = |tunlet: &mut dyn Tunlet| {
        let needs = tunlet.requirements(4);
        let place = |function: &str, side| {
            needs.measures.iter().position(|measure| measure.function == function && measure.side == side).expect("a point")
        };
        let iteration = [HookSide::Entry, HookSide::Exit].map(|side| place("global_sendreceive", side));
        (iteration, [HookSide::Entry, HookSide::Exit].map(|side| place("arcStepKernel", side)), needs.tunes)
    };
    let ((own_iteration, own_chunk, own_tunes), (iteration, chunk, tunes)) = (points(&mut file), points(&mut *built_in));
    assert_eq!(own_tunes, tunes[..3]);
    let mut state = 7u64;
    let first = changes(&file.on_start(4));
    assert_eq!(first, changes(&built_in.on_start(4)));
    let mut decided = first.len();
    for round in 0..40 {
        let begin = 10.0 * f64::from(round);
        let mut both = |points: [usize; 2], rank, side, time, values: [&[f64]; 2]| {
            let own = file.on_event(&event(points[0], rank, side, time, values[0]));
            let other = built_in.on_event(&event(points[1], rank, side, time, values[1]));
            let (own, other) = (changes(&own), changes(&other));
            assert_eq!(own.len(), other.len(), "round {round}: {own:?} {other:?}");
            let same = own.iter().zip(&other).all(|(own, other)| own.0 == other.0 && (own.1 - other.1).abs() < 1e-9);
            assert!(same, "round {round}: {own:?} {other:?}");
            decided += own.len();
        };
        both([own_iteration[0], iteration[0]], 0, HookSide::Entry, begin, [&[3.0]; 2]);
        // Each worker begins a chunk when it has finished the previous one: only tasks take time.
        let mut clocks = [begin; 4];
        for part in 0..3 {
            for rank in 1..4u32 {
                let clock = &mut clocks[rank as usize];
                both([own_chunk[0], chunk[0]], rank, HookSide::Entry, *clock, [&[f64::from(10 + part)]; 2]);
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let seconds = 0.5 + f64::from(rank) * if round > 20 { 0.6 } else { 0.1 } + (state >> 40) as f64 / (1u64 << 26) as f64;
                *clock += seconds;
                both([own_chunk[1], chunk[1]], rank, HookSide::Exit, *clock, [&[seconds], &[]]);
            }
        }
        let end = clocks.into_iter().fold(begin, f64::max);
        both([own_iteration[1], iteration[1]], 0, HookSide::Exit, end, [&[], &[3.0]]);
    }
    assert!(decided > 10, "{decided}");
}

#[test]
fn rules_compare_explain_and_skip_small_changes() {
    let text = chunk(
        "value = \"10 * mean(step.load over 2)\"\nif = \"step.load > 0 and step.count > 1\"\nelse = 50\nleast = 3\nwhole = true\n\
         why = \"the load is {step.load:.1}, it was {mean(step.load over 2)} on average\"\n",
    );
    let mut tunlet = read(&text);
    assert_eq!(changes_at(&mut tunlet, 0.0, 2.0), [(0, 50.0)], "the condition does not hold yet");
    let actions = tunlet.on_event(&event(0, 0, HookSide::Entry, 1.0, &[2.55]));
    let Some(TuningAction::Change { value, why, rank: None, .. }) = actions.first() else { panic!("{actions:?}") };
    assert_eq!((*value, why.as_str()), (23.0, "the load is 2.5, it was 2.275 on average"));
    assert_eq!(changes_at(&mut tunlet, 2.0, 2.3), [], "24 is not far enough from 23");
    assert_eq!(changes_at(&mut tunlet, 3.0, f64::NAN), [], "what is not known decides nothing");
}

#[test]
fn the_minimum_change_may_be_relative() {
    let mut tunlet = read(&chunk("value = \"step.load\"\nleast = \"25 %\"\n"));
    assert_eq!(changes_at(&mut tunlet, 0.0, 40.0), [(0, 40.0)]);
    assert_eq!(changes_at(&mut tunlet, 1.0, 49.0), []);
    assert_eq!(changes_at(&mut tunlet, 2.0, 50.0), [(0, 50.0)]);
    assert_eq!(changes_at(&mut tunlet, 3.0, 38.0), []);
}

#[test]
fn requirements_follow_the_file() {
    let text = r#"
        [[measure]]
        name = "solve"
        actor = "calls solve"
        function = "solve"
        side = "exit"
        values = { rest = "state->residual", took = "seconds" }
        join = 0.5
        [[tune]]
        call = "set_level"
        arguments = [7, "value"]
        actor = "0,2-3"
        range = [0, 9]
        at = "exit of solve"
        often = "always"
        value = "mean(solve.rest) + max(solve.took)"
        [[tune]]
        replace = "inner"
        by = "inner_simple"
        if = "mean(solve.rest) < 1"
        [[tune]]
        control = "mpi_eager_limit"
        range = [0, 65536]
        at = "before MPI"
        value = 4096
    "#;
    let mut tunlet = read(text);
    let needs = tunlet.requirements(4);
    let measure = &needs.measures[0];
    assert_eq!((&measure.actor, measure.side, measure.join), (&Actor::Callers("solve".into()), HookSide::Exit, EventJoin::Over(0.5)));
    assert_eq!(measure.values, ["state->residual", "seconds"]);
    let tune = &needs.tunes[0];
    assert_eq!(
        tune.target,
        TuningTarget::Call { function: "set_level".into(), arguments: vec![CallArgument::Number(7.0), CallArgument::Wished] }
    );
    assert_eq!((&tune.actor, tune.when), (&Actor::Ranks(vec![0, 2, 3]), ActionRepeat::Always));
    assert_eq!(tune.moment, TuningMoment::At("solve".into(), HookSide::Exit));
    assert_eq!(needs.tunes[1].target, TuningTarget::Replace { function: "inner".into(), by: "inner_simple".into() });
    assert_eq!(
        (&needs.tunes[2].target, &needs.tunes[2].moment),
        (&TuningTarget::Control("mpi_eager_limit".into()), &TuningMoment::BeforeMpi)
    );
    let sums = |values: &[f64]| {
        values.iter().fold(RunningStats::default(), |mut sums, value| {
            sums.add(*value, 1);
            sums
        })
    };
    let joined = EventSummary { point: 0, from: 0.0, count: 2, values: vec![sums(&[0.25, 0.75]), sums(&[1.0, 3.0])], change: 0 };
    assert_eq!(changes(&tunlet.on_summary(&joined)), [(0, 3.5), (1, 1.0), (2, 4096.0)]);
}

#[test]
fn ranks_are_measured_and_changed_separately() {
    let text = step(
        "[performance]\nimbalance = \"max(sum(step.load) per rank) / mean(sum(step.load) per rank)\"\n\
         [[tune]]\nvariable = \"share\"\nrange = [0, 10]\nwhere = \"there\"\nvalue = \"step.load / max(step.load per rank)\"\n",
    );
    let mut tunlet = read(&format!("history = 4\n{text}"));
    let mut reported = |rank, load| tunlet.on_event(&event(0, rank, HookSide::Entry, 0.0, &[load]));
    assert_eq!(reported(1, 2.0), [TuningAction::Change { point: 0, value: 1.0, rank: Some(1), why: String::new() }]);
    assert_eq!(reported(2, 1.0), [TuningAction::Change { point: 0, value: 0.5, rank: Some(2), why: String::new() }]);
    assert_eq!(reported(2, 1.0), [], "nothing new for that process");
    assert_eq!(tunlet.metrics(), [TunletMetric::new("imbalance", 1.0, "")]);
}

#[test]
fn interval_and_count_are_implicit_values() {
    let mut tunlet = read(&chunk("value = \"10 * step.interval + step.count\"\n"));
    assert_eq!(changes_at(&mut tunlet, 1.0, 0.0), [], "the first has nothing before it");
    assert_eq!(changes_at(&mut tunlet, 3.5, 0.0), [(0, 27.0)]);
}

#[test]
fn an_exit_matches_its_entry_despite_exceptions_and_nesting() {
    let text = "[[measure]]\nname = \"work\"\nfunction = \"work\"\nside = \"call\"\nvalues = [\"n\"]\n\
                [[tune]]\nvariable = \"chunk\"\nrange = [0, 1000]\nvalue = \"100 * work.seconds + work.n\"\n";
    let mut tunlet = read(text);
    let needs = tunlet.requirements(2);
    assert_eq!(
        (needs.measures[0].values.as_slice(), needs.measures[1].values.as_slice()),
        (&["n".to_owned()][..], &["seconds".to_owned()][..])
    );
    let mut reported = |point, side, time, values: &[f64]| changes(&tunlet.on_event(&event(point, 1, side, time, values)));
    reported(0, HookSide::Entry, 1.0, &[1.0]);
    reported(0, HookSide::Entry, 2.0, &[2.0]);
    reported(0, HookSide::Entry, 3.0, &[3.0]);
    // The call that began at 3 was left by an exception.
    assert_eq!(reported(1, HookSide::Exit, 5.0, &[3.0]), [(0, 302.0)]);
    assert_eq!(reported(1, HookSide::Exit, 6.0, &[5.0]), [(0, 501.0)]);
}

#[test]
fn a_search_in_a_file_tries_values_and_settles() {
    let text = step("[search]\nobjective = \"step.interval\"\n[[tune]]\nvariable = \"chunk\"\nrange = [1, 64]\nwhole = true\n");
    let mut tunlet = read(&format!("use = \"search\"\n{text}"));
    let (mut time, mut value, mut settled) = (0.0, 60.0, Vec::new());
    let mut change = 0;
    for _ in 0..200 {
        time += 1.0 + (value - 17.0f64).powi(2) / 500.0;
        for action in tunlet.on_event(&PointEvent { change, ..event(0, 0, HookSide::Entry, time, &[0.0]) }) {
            match action {
                TuningAction::Change { value: new, .. } => {
                    tunlet.on_changed(0, 0, Some(value));
                    change += 1;
                    tunlet.on_confirmed(0, change);
                    value = new;
                }
                TuningAction::Report(text) => settled.push(text),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(value, 17.0, "{settled:?}");
    assert_eq!(tunlet.metrics()[0], TunletMetric::new("best time", 1.0, "s"));
    assert!(settled.len() == 1 && settled[0].contains("settled on chunk = 17"), "{settled:?}");
}

/// A search of `chunk`, fed with iterations of a second until it requests its first change.
fn search_at_its_first_change() -> FileTunlet {
    let text = step("[search]\nobjective = \"step.interval\"\n[[tune]]\nvariable = \"chunk\"\nrange = [1, 64]\nwhole = true\n");
    let mut tunlet = read(&format!("use = \"search\"\n{text}"));
    let requests = |tunlet: &mut FileTunlet, index: i32| !tunlet.on_event(&event(0, 0, HookSide::Entry, index.into(), &[0.0])).is_empty();
    let first = (0..20).find(|index| requests(&mut tunlet, *index));
    assert!(first.is_some());
    tunlet
}

#[test]
fn a_search_counts_nothing_before_its_change_is_confirmed() {
    let mut tunlet = search_at_its_first_change();
    let points = |tunlet: &FileTunlet| tunlet.metrics().iter().find(|one| one.name == "points tried").map(|one| one.value);
    let before = points(&tunlet);
    (20..60).for_each(|index| assert_eq!(tunlet.on_event(&event(0, 0, HookSide::Entry, index.into(), &[0.0])), []));
    assert_eq!(points(&tunlet), before);
    tunlet.on_changed(0, 0, Some(60.0));
    tunlet.on_confirmed(0, 5);
    // These events were on their way.
    (60..90).for_each(|index| assert_eq!(tunlet.on_event(&event(0, 0, HookSide::Entry, index.into(), &[0.0])), []));
    let later = |index: i32| PointEvent { change: 5, ..event(0, 0, HookSide::Entry, index.into(), &[0.0]) };
    assert!((90..110).any(|index| !tunlet.on_event(&later(index)).is_empty()));
}

#[test]
fn a_refused_change_drops_its_point_and_a_watched_search_ends() {
    let mut tunlet = search_at_its_first_change();
    let mut tried = Vec::new();
    for _ in 0..2 {
        let actions = tunlet.on_rejected(0, "it is read-only");
        let [TuningAction::Change { value, .. }] = &actions[..] else { panic!("{actions:?}") };
        tried.push(*value);
    }
    assert_ne!(tried[0], tried[1]);
    let actions = tunlet.on_rejected(0, "it is read-only");
    assert!(matches!(&actions[..], [TuningAction::Report(what)] if what.ends_with("ends: it is read-only")), "{actions:?}");
    let mut watched = search_at_its_first_change();
    assert!(matches!(&watched.on_not_made(0, "only watched")[..], [TuningAction::Report(_)]));
    (20..60).for_each(|index| assert_eq!(watched.on_event(&event(0, 0, HookSide::Entry, index.into(), &[0.0])), []));
}

#[test]
fn a_file_says_how_its_changes_are_guarded() {
    let tune = "[[tune]]\nvariable = \"chunk\"\nrange = [1, 64]\nvalue = \"7\"\n";
    let guard = |key: &str| {
        let tunlet = read(&format!("{key}\n{}", step(tune)));
        (tunlet.guard(), tunlet.guard_measure())
    };
    assert_eq!(guard("guard = false").0, ChangeGuard::None);
    let interval = Some(GuardMeasure { point: 0, duration: None });
    assert_eq!(guard("guard = \"step\""), (ChangeGuard::InTurns, interval));
    assert_eq!(guard("guard = \"step.interval\"").1, interval);
}

#[test]
fn formulas_can_use_fuzzy_outputs() {
    let text = step(
        r#"
        [[fuzzy.sensor]]
        name = "load"
        value = "mean(step.load)"
        words = { low = [0, 0, 1], high = [0, 1, 1] }
        [[fuzzy.output]]
        name = "factor"
        words = { less = 0.5, more = 2 }
        [[fuzzy.rule]]
        if = "load is high"
        then = "factor is less"
        [[fuzzy.rule]]
        if = "load is low"
        then = "factor is more"
        [[tune]]
        variable = "chunk"
        range = [1, 100]
        value = "10 * factor"
        "#,
    );
    let mut tunlet = read(&format!("use = \"fuzzy\"\nhistory = 1\n{text}"));
    // Low to 0.75, high to 0.25: (0.75 * 2 + 0.25 * 0.5) / 1.
    assert_eq!(changes_at(&mut tunlet, 0.0, 0.25), [(0, 16.25)]);
    assert_eq!(changes_at(&mut tunlet, 1.0, 5.0), [(0, 5.0)], "beyond its last corner a word that ends upright holds");
    let wrong = |from: &str, to: &str| failure(&text.replace(from, to));
    let text_of_word = wrong("\"load is high\"", "\"load is hihg\"");
    assert!(text_of_word.contains("the word `hihg` is unknown here (did you mean `high`?)"), "{text_of_word}");
    assert!(wrong("\"load is low\"", "\"laod is low\"").contains("did you mean `load`?"));
    assert!(wrong("factor is more", "factor more").contains("NAME is WORD"));
    assert!(wrong("more = 2", "more = [1, 3, 2]").contains("in ascending order"));
    assert!(wrong("more = 2", "more = [1, 2, 3]").contains("either all numbers or all shapes"));
}

#[test]
fn a_script_keeps_state_changes_and_reports() {
    let text = chunk(
        r#"
        [performance]
        twice = "2 * step.load"
        "#,
    );
    let script = "script = '''\nfn happened(event) {\n    this.seen = (this.seen ?? 0) + 1;\n    if event.point == \"step\" && event.values.load > 3.0 {\n        change(\"chunk\", value(\"twice\"), `${this.seen} seen`);\n        change_in(event.rank, \"chunk\", 7, \"\");\n    }\n}\nfn passed(time) { if time > 5.0 { tell(`at ${time}`); } }\n'''\n";
    let mut tunlet = read(&format!("{script}{text}"));
    assert_eq!(changes_at(&mut tunlet, 0.0, 1.0), []);
    let actions = tunlet.on_event(&event(0, 3, HookSide::Entry, 1.0, &[4.0]));
    assert_eq!(actions[0], TuningAction::change(0, 8.0, "2 seen"));
    assert_eq!(actions[1], TuningAction::Change { point: 0, value: 7.0, rank: Some(3), why: String::new() });
    assert_eq!(tunlet.on_tick(1.0), []);
    assert_eq!(tells(&tunlet.on_tick(6.5)), ["at 6.5"]);
}

#[test]
fn a_failing_script_is_reported_once_and_disabled() {
    let cases = [
        ("let x = [1]; x[5]", "out of bounds"),
        ("loop { this.x = 1; }", "it took more than"),
        ("let x = \"a\"; loop { x += x; }", "too large"),
        ("fn deep(n) { deep(n + 1) }\n deep(1)", "overflow"),
        ("let x = [1]; loop { x += x; }", "too large"),
        ("throw \"by itself\"", "by itself"),
        ("change(\"chnuk\", 1, \"\")", "did you mean `chunk`?"),
        ("no_such()", "no_such"),
        ("loop { tell(\"again\"); }", "requests in one call"),
    ];
    for (body, reason) in cases {
        let (before, body) = body.split_once("\n ").unwrap_or(("", body));
        let text = format!("script = '''\n{before}\nfn happened(event) {{\n    {body}\n}}\n'''\n{}", chunk(""));
        let mut tunlet = read(&text);
        let reported = tells(&tunlet.on_event(&event(0, 0, HookSide::Entry, 0.0, &[1.0])));
        assert!(
            reported.len() == 1 && reported[0].contains("the script is disabled") && reported[0].contains(reason),
            "{body}: {reported:?}"
        );
        assert!(
            reason.starts_with("did you")
                || reported[0].contains("my.tunlet:4:")
                || reported[0].contains("my.tunlet:3:")
                || body.contains("deep"),
            "{body}: {reported:?}"
        );
        assert_eq!(tunlet.on_event(&event(0, 0, HookSide::Entry, 1.0, &[1.0])), [], "{body}");
        assert_eq!(tunlet.on_tick(2.0), []);
    }
}

#[test]
fn a_script_cannot_access_files_or_eval() {
    for body in ["import \"x\" as x;", "eval(\"1\");"] {
        let text = format!("script = '''\nfn happened(event) {{ {body} }}\n'''\n{}", chunk(""));
        let text = failure(&text);
        assert!(text.contains("my.tunlet:2:"), "{text}");
    }
    for body in ["open_file(\"x\")", "sleep(9)", "sleep(9.0)", "timestamp()"] {
        let mut tunlet = read(&format!("script = '''\nfn happened(event) {{ {body} }}\n'''\n{}", chunk("")));
        let reported = tells(&tunlet.on_event(&event(0, 0, HookSide::Entry, 0.0, &[1.0])));
        assert!(reported[0].contains("the script is disabled"), "{body}: {reported:?}");
    }
}

#[test]
fn a_script_may_have_its_own_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my.tunlet");
    let text = format!("script = \"my.rhai\"\n{}", chunk(""));
    std::fs::write(&path, &text).expect("written");
    assert!(crate::tunlet_file::read(&path).expect_err("no script").to_string().contains("my.rhai"));
    std::fs::write(folder.path().join("my.rhai"), "fn happened(event) {\n    change(\"chunk\", 5, \"\";\n}\n").expect("written");
    let error = super::read(&path).expect_err("no script").to_string();
    assert!(error.contains("my.rhai:2:"), "{error}");
    std::fs::write(folder.path().join("my.rhai"), "fn other(event) { }\n").expect("written");
    assert!(crate::tunlet_file::read(&path).expect_err("nothing to call").to_string().contains("happened(event)"));
    std::fs::write(folder.path().join("my.rhai"), "fn happened(event) { change(\"chunk\", 5, \"\"); }\n").expect("written");
    assert_eq!(changes_at(&mut crate::tunlet_file::read(&path).expect("a tunlet"), 0.0, 1.0), [(0, 5.0)]);
}

#[test]
fn errors_have_a_position_and_say_what_is_allowed() {
    let cases: &[(String, &str)] = &[
        ("[[measure]\n".into(), "my.tunlet:1:"),
        (String::new(), "`measure` is missing at the top"),
        (step("[[tun]]\n"), "my.tunlet:5:3: the key `tun` is unknown at the top (did you mean `tune`?)"),
        ("[[measure]]\nname = \"a\"\n".into(), "`function` is missing in [[measure]]"),
        (
            "[[measure]]\nname = \"a\"\nfuncton = \"f\"\n".into(),
            "my.tunlet:3:1: the key `functon` is unknown in [[measure]] (did you mean `function`?)",
        ),
        (step("actor = \"boss\"\n"), "`actor` must be \"all\", \"master\", \"workers\""),
        (step("side = \"before\"\n"), "`side` must be \"entry\", \"exit\" or \"call\""),
        (step("weight = \"laod\"\n"), "did you mean `load`?"),
        (step("join = -1\n"), "`join` must be a positive number"),
        (step("join = 1\nweight = \"load\"\n"), "where events are joined"),
        (format!("period = \"stop\"\n{}", step("")), "my.tunlet:1:10: the measure `stop` is unknown here (did you mean `step`?)"),
        (format!("history = 0\n{}", step("")), "`history` must be an integer from 1 to 1000"),
        (step("[performance]\na = \"b + 1\"\nb = \"step.load\"\n"), "my.tunlet:6:6: the name `b` is unknown here"),
        (step("[performance]\na = \"step.load +\"\n"), "my.tunlet:6:17: `a` is not a formula: expected a formula, found the end"),
        (chunk("value = 1\nactor = \"mastr\"\n"), "not \"mastr\""),
        (chunk(""), "`value` is missing in [[tune]], and no search or script changes it"),
        (chunk("value = 1\nif = \"step.load\"\n"), "`if` is not a condition: it has no comparison"),
        (chunk("value = 1\nwhy = \"{step.laod}\"\n"), "my.tunlet:9:9: the name `step.laod` is unknown here (did you mean `step.load`?)"),
        (chunk("value = 1\nat = \"entering step\"\n"), "\"entry of FUNCTION\""),
        (chunk("value = 1\nelse = 2\n"), "`else` needs an `if`"),
        (chunk("call = \"f\"\n"), "only one of"),
        (chunk("value = 1\nstart = 500\n"), "within `range`"),
        (chunk("value = 1\nleast = \"much\"\n"), "a non-negative number, or a share as in \"10 %\""),
        (step("[[tune]]\nvariable = \"chunk\"\nvalue = 1\n"), "`range` is missing in [[tune]]"),
        (step("[[tune]]\nrange = [1, 2]\nvalue = 1\n"), "one of `variable`, `call`"),
        (step("[[tune]]\nvariable = \"chunk\"\nrange = [2, 1]\nvalue = 1\n"), "[least, greatest]"),
        (step("[search]\nobjective = \"step.interval\"\n"), "a search needs a [[tune]] without `value`"),
        (format!("use = \"search\"\n{}", chunk("value = 1\n")), "`[search]` is missing in this file"),
        (step("[[measure]]\nname = \"step\"\nfunction = \"g\"\n"), "`step` is already defined"),
    ];
    for (text, expected) in cases {
        let error = failure(text);
        assert!(error.contains(expected), "{text}\n-> {error}\nexpected {expected}");
        assert!(error.starts_with("my.tunlet:"), "{error}");
    }
}

#[test]
fn parsing_never_panics() {
    let whole = include_str!("../../../../docs/tunlets/factoring.tunlet");
    for cut in (0..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        let _ = parse(&whole[..cut], Path::new("my.tunlet"));
        let _ = parse(&format!("{}\"{}", &whole[..cut], &whole[cut..]), Path::new("my.tunlet"));
    }
}
