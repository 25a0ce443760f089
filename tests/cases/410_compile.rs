//! Models from source, with what a run of the program tells.

use sintonia_tests::{Outcome, Process, Recording, on_every_mpi, sintonia, tests_dir};

#[test]
fn a_recording_tells_how_often_conditions_held() {
    on_every_mpi("c/410_sometimes", |_, program, recording| {
        let model = compiled("410_sometimes.c", recording).expect_status(0).text();
        for (site, share) in [("much", "(0.3)"), ("barrier", "(0.4)")] {
            let expected = format!("if \"410_sometimes.c:{}\" {share}", program.line(site));
            assert!(model.contains(&expected), "{expected} is not in\n{model}");
        }
    });
}

#[test]
fn a_recording_of_another_program_tells_nothing() {
    on_every_mpi("c/001_send_modes", |_, _, recording| {
        let model = compiled("410_sometimes.c", recording).expect_status(0).text();
        assert!(model.contains("if \"410_sometimes.c:") && !model.contains("(0.3)"), "{model}");
    });
}

/// What comes of compiling a program with a recording.
fn compiled(program: &str, recording: &Recording) -> Outcome {
    let source = tests_dir().join("programs/c").join(program);
    let words = [&sintonia(), "compile", &source.display().to_string(), "--recording", &recording.path.display().to_string()];
    Process::new(words).run_in(recording.folder())
}
