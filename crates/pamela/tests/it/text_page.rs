//! The models in docs/pamela.md.

use sintonia_pamela::model::PamelaModel;

const PAGE: &str = include_str!("../../../../docs/pamela.md");

/// The models of the page, with the lines they start on.
fn models() -> Vec<(usize, String)> {
    let mut models: Vec<(usize, String)> = Vec::new();
    let mut is_inside = false;
    for (number, line) in PAGE.lines().enumerate() {
        match line {
            "```pamela" => {
                models.push((number + 2, String::new()));
                is_inside = true;
            }
            "```" => is_inside = false,
            _ if line.starts_with("```") => panic!("line {} begins a block of something else", number + 1),
            _ => models.last_mut().filter(|_| is_inside).into_iter().for_each(|(_, text)| *text += &format!("{line}\n")),
        }
    }
    models
}

#[test]
fn every_model_of_the_page_is_one() {
    let models = models();
    assert!(models.len() > 4);
    for (line, text) in models {
        let model = PamelaModel::parse(&text, format!("docs/pamela.md from line {line}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.to_text().parse::<PamelaModel>().unwrap(), model);
    }
}

#[test]
fn the_message_of_the_page_is_that_of_its_mistake() {
    let error = PamelaModel::parse("parameter n;\nmain {\n\tseq(i=1,m) { access }\n}\n", "sum.pam").unwrap_err().to_string();
    let shown: String = error.lines().map(|line| format!("    {line}\n")).collect();
    assert!(PAGE.contains(&shown), "{shown}");
}

#[test]
fn every_operation_that_needs_a_type_is_on_the_page() {
    for word in ["sum", "sub", "mpy", "div", "mod", "load", "store", "bits", "shift", "convert", "sqrt", "pow", "floor", "random"] {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
        assert!(format!("main {{ {word} }}").parse::<PamelaModel>().is_err(), "{word} needs a type");
        assert!(format!("main {{ {word}_double }}").parse::<PamelaModel>().is_ok());
    }
}
