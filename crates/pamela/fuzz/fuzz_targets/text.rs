//! Parses any text as a model: either it round-trips, or its diagnostics have positions in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_pamela::model::PamelaModel;

fuzz_target!(|text: &str| {
    match PamelaModel::parse(text, "a.pam") {
        Ok(model) => {
            let printed = model.to_text();
            let again = PamelaModel::parse(&printed, "a.pam").expect("what is printed can be read");
            assert_eq!(again, model);
            assert_eq!(again.to_text(), printed);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.diagnostics().iter().all(|mistake| text.get(mistake.bytes.clone()).is_some()));
        }
    }
});
