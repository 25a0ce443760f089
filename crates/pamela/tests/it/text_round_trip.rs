//! What is printed parses as the same model, and every text is handled.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use sintonia_formula::Formula;
use sintonia_machine::{CollectiveKind, Named};
use sintonia_pamela::model::{
    ComputeOp, Computer, LoopOrder, ModelParameter, ModelTerm, PamelaModel, ProcedureDecl, ResourceDecl, SourceLanguage,
};
use sintonia_pamela::text::Error;

/// Formulas of symbols that every model here declares.
fn formula() -> impl Strategy<Value = Formula> {
    let texts = ["1", "0", "3", "1000000", "1e-9", "[0.25, 0.5]", "n", "m", "i", "8*n + 1", "n/m", "max(n, m, 2)", "ceil(n/p)", "`max`^2"];
    let sums = ["sum(k=1..n, sqrt(k))", "pieces(n, up to 64: n, beyond: 2*n - 64)", "sqrt(n + 1)/(m + 2)", "log2(n)", "n^(1/2) - 3"];
    select([texts.as_slice(), &sums].concat()).prop_map(|text| text.parse().unwrap())
}

fn share() -> impl Strategy<Value = Formula> {
    select(vec!["0", "1", "0.5", "[0.1, 0.2]", "1/n"]).prop_map(|text| text.parse().unwrap())
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

fn computer() -> impl Strategy<Value = String> {
    word(&["0", "p", "w", "q", "w_1", "17", "ü"])
}

fn line() -> impl Strategy<Value = String> {
    "[ -~üé]{0,24}".prop_map(|text| text.trim().to_owned())
}

fn lines() -> impl Strategy<Value = Option<String>> {
    option::of(vec(line(), 1..4).prop_map(|lines| lines.join("\n")))
}

fn operation() -> impl Strategy<Value = ComputeOp> {
    let on = || option::of(computer().prop_map(Computer));
    let typed = (word(&["sum", "mpy", "compare", "load", "fft"]), word(&["int", "long", "float", "double"]), on());
    let typed = typed.prop_map(|(name, of, on)| ComputeOp { name, data_type: Some(of), computer: on });
    let untyped = (word(&["compare", "access", "assign", "call", "new"]), on()).prop_map(|(name, on)| ComputeOp {
        name,
        data_type: None,
        computer: on,
    });
    prop_oneof![typed, untyped]
}

fn single(callable: &'static [(&'static str, usize)]) -> BoxedStrategy<ModelTerm> {
    let message = (word(&["0", "w", "p"]), computer(), formula());
    let group = (select(CollectiveKind::ALL), formula(), formula());
    let own = prop_oneof![
        4 => (operation(), formula()).prop_map(|(operation, times)| ModelTerm::Operation { operation, times }),
        1 => message.prop_map(|(from, to, bytes)| ModelTerm::Message { from: Computer(from), to: Computer(to), bytes }),
        1 => group.prop_map(|(operation, bytes, processes)| ModelTerm::Collective { operation, bytes, processes }),
        1 => formula().prop_map(ModelTerm::Delay),
        1 => line().prop_map(ModelTerm::Comment),
        1 => Just(ModelTerm::Sequence(vec![])),
    ];
    if callable.is_empty() {
        return own.boxed();
    }
    let call = (select(callable), vec(formula(), 3))
        .prop_map(|((name, takes), given)| ModelTerm::Call { procedure: name.into(), arguments: given[..takes].to_vec() });
    prop_oneof![3 => own, 1 => call].boxed()
}

/// A block as the parser returns it: a block of one term is that term.
fn block(mut terms: Vec<ModelTerm>, order: LoopOrder) -> ModelTerm {
    let others = terms.iter().filter(|term| !matches!(term, ModelTerm::Comment(_))).count();
    match order {
        _ if terms.len() == 1 => terms.remove(0),
        LoopOrder::Parallel if others > 1 => ModelTerm::Parallel(terms),
        _ => ModelTerm::Sequence(terms),
    }
}

fn term(callable: &'static [(&'static str, usize)]) -> impl Strategy<Value = ModelTerm> {
    single(callable).prop_recursive(6, 64, 6, |inner| {
        let order = || select(vec![LoopOrder::Sequential, LoopOrder::Parallel]);
        let index = || word(&["i", "j", "n"]);
        let boxed = || inner.clone().prop_map(Box::new);
        let repetition = (order(), index(), formula(), formula(), boxed());
        let tasks = (index(), formula(), formula(), word(&["w", "x"]), boxed());
        let condition = (option::of("[ -~\n]{0,16}"), option::of(share()), boxed(), boxed());
        let using = (word(&["network", "disks", "0"]), boxed());
        prop_oneof![
            (vec(inner.clone(), 0..6), order()).prop_map(|(terms, order)| block(terms, order)),
            repetition.prop_map(|(order, index, from, to, body)| ModelTerm::Loop { order, index, from, to, body }),
            tasks.prop_map(|(index, from, to, computer, body)| ModelTerm::Tasks { index, from, to, computer, body }),
            condition.prop_map(|(place, share, then, otherwise)| ModelTerm::If { position: place, share, then, otherwise }),
            using.prop_map(|(resource, body)| ModelTerm::Use { resource, body }),
        ]
    })
}

fn model() -> impl Strategy<Value = PamelaModel> {
    let names = ["n", "m", "i", "max"];
    let parameters = vec((option::of(share()), lines()), names.len());
    let language = select(vec![SourceLanguage::C, SourceLanguage::Java]);
    let bodies = (term(&[("first", 2), ("second", 0), ("send_back", 1)]), term(&[("second", 0), ("send_back", 1)]), term(&[]), term(&[]));
    (language, parameters, bodies, vec(lines(), 4)).prop_map(move |(language, parameters, bodies, notes)| {
        let parameter = |(name, (value, note)): (&str, (Option<Formula>, _))| {
            let value = value.filter(|value| value.symbols().is_empty() || name != "n");
            ModelParameter { name: name.into(), value, comment: note }
        };
        let headers: [(&str, &[&str]); 4] = [("main", &[]), ("first", &["a", "w"]), ("second", &[]), ("send_back", &["b"])];
        let procedure = |(((name, parameters), body), note): (((&str, &[&str]), ModelTerm), _)| ProcedureDecl {
            name: name.into(),
            parameters: parameters.iter().map(|name| (*name).into()).collect(),
            body,
            comment: note,
        };
        let bodies = [bodies.0, bodies.1, bodies.2, bodies.3];
        PamelaModel {
            language,
            parameters: names.into_iter().zip(parameters).map(parameter).collect(),
            resources: [("network", 1), ("disks", 4)]
                .map(|(name, count)| ResourceDecl { name: name.into(), multiplicity: Formula::integer(count) })
                .into(),
            procedures: headers.into_iter().zip(bodies).zip(notes).map(procedure).collect(),
        }
    })
}

/// Checks that a text is either a model that round-trips, or has diagnostics with positions in it.
fn answered(text: &str) {
    match PamelaModel::parse(text, "a.pam") {
        Ok(model) => {
            let printed = model.to_text();
            let again = PamelaModel::parse(&printed, "a.pam").unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again, model, "{printed}");
            assert_eq!(again.to_text(), printed);
        }
        Err(Error::Invalid(mistakes)) => {
            assert!(!mistakes.is_empty() && mistakes.len() <= 100);
            for mistake in mistakes {
                assert!(text.get(mistake.bytes.clone()).is_some(), "{mistake:?}");
                let line = text.split('\n').nth(mistake.line - 1).expect("the line is there");
                assert!(mistake.column <= line.chars().count() + 1 && mistake.column < mistake.end_column, "{mistake:?}");
                assert!(mistake.to_string().starts_with("a.pam:"));
            }
        }
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_as_the_same_model(model in model()) {
        let text = model.to_text();
        let again = PamelaModel::parse(&text, "a.pam").unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(&again, &model, "{}", text);
        prop_assert_eq!(again.to_text(), text);
        prop_assert!(model.check().is_ok());
    }

    #[test]
    fn a_text_with_mistakes_gets_an_answer(
        model in model(),
        edits in vec((any::<prop::sample::Index>(), 0_usize..12, "[ -~\n]{0,3}|\\{|\\}|;|\\|\\||/\\*|\"|`|seq\\(i=1,|else|ü"), 1..4),
    ) {
        let mut text = model.to_text();
        for (place, length, put) in edits {
            let place = (0..=place.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let end = (place..=(place + length).min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(place);
            text.replace_range(place..end, &put);
        }
        answered(&text);
    }

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,200}|[ -~\n]{0,200}|(seq|par|\\(|\\)|\\{|\\}|i|=|1|,|;|\\|\\||if|else|use|main|sum_int|//x\n|\"a\"| ){0,80}") {
        answered(&text);
    }
}
