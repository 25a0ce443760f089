//! Any text as a model: it is one that is printed as itself, or its mistakes are places in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_pamela::model::Model;

fuzz_target!(|text: &str| {
    match Model::parse(text, "a.pam") {
        Ok(model) => {
            let printed = model.to_text();
            let again = Model::parse(&printed, "a.pam").expect("what is printed can be read");
            assert_eq!(again, model);
            assert_eq!(again.to_text(), printed);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.mistakes().iter().all(|mistake| text.get(mistake.bytes.clone()).is_some()));
        }
    }
});
