//! Tunlets of the user's own: the files of docs/tunlets.md, on the program of docs/tunlets.md.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sintonia_tests::fire::{SHORT_FIRE, tuning, was_made, xfire};
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia, workspace};

fn documented(name: &str) -> PathBuf {
    workspace().join("docs/tunlets").join(name)
}

/// Runs the program of the tutorial for `steps` steps, under tunlets if there are any.
fn relax(mpi: &Mpi, folder: &Path, steps: usize, words: &[&str]) -> Outcome {
    let program = folder.join("relax");
    if !program.is_file() {
        mpi.compile(&[documented("relax.c")], &program);
    }
    let own: Vec<String> = match words {
        [] => Vec::new(),
        words => [&[sintonia().as_str(), "tune"], words, &["--force", "-o", "tuned.sin", "--"]]
            .concat()
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    let launched = mpi.launch(2, &[program.display().to_string(), steps.to_string()]);
    Process::new(own.into_iter().chain(launched)).env(&mpi.env).limit(300).run_in(folder)
}

/// The changes that were made.
fn decisions(outcome: &Outcome) -> Vec<Value> {
    let report = tuning(outcome);
    report["decisions"].as_array().expect("a list").clone()
}

/// The values that a variable was given, in order.
fn values(decisions: &[Value]) -> Vec<f64> {
    decisions.iter().map(|one| one["new"].as_f64().expect("a number")).collect()
}

#[test]
fn c640_the_tunlet_of_the_tutorial_changes_its_variable_and_not_the_result() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let bare = relax(mpi, folder.path(), 150, &[]);
        bare.expect_status(0);
        let file = documented("relax.tunlet").display().to_string();
        let tuned = relax(mpi, folder.path(), 150, &["--tunlet", &file, "--json"]);
        tuned.expect_status(0);
        assert_eq!(tuned.stdout, bare.stdout, "{}", mpi.name);
        let decisions = decisions(&tuned);
        assert!(!decisions.is_empty(), "{}: {}", mpi.name, tuned.text());
        assert!(decisions.iter().all(|one| one["action"] == "patience" && was_made(one) && one["tunlet"] == "relax"), "{decisions:?}");
        assert!(decisions.iter().all(|one| one["why"].as_str().is_some_and(|why| why.starts_with("a look takes "))), "{decisions:?}");
        // Looking after every sweep is never right.
        assert!(values(&decisions).iter().all(|value| (2.0..=1000.0).contains(value) && value.fract() == 0.0), "{decisions:?}");
    });
}

#[test]
fn c641_a_search_tries_values_and_tells_them() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let bare = relax(&mpi, folder.path(), 20, &[]);
    bare.expect_status(0);
    for tunlet in [&documented("relax-search.tunlet").display().to_string(), "search:iteration=\"relax\",variables={patience=[1,512]}"] {
        let tuned = relax(&mpi, folder.path(), 300, &["--tunlet", tunlet, "--json"]);
        tuned.expect_status(0);
        assert_eq!(tuned.stdout.split_whitespace().count(), bare.stdout.split_whitespace().count());
        let decisions = decisions(&tuned);
        let tried: std::collections::BTreeSet<u64> = values(&decisions).into_iter().map(|value| value as u64).collect();
        assert!(tried.len() >= 4, "{tunlet}: {decisions:?}");
        assert!(decisions.iter().all(was_made), "{decisions:?}");
    }
}

#[test]
fn c642_rules_in_words_and_scripts_change_the_same_variable() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let bare = relax(&mpi, folder.path(), 150, &[]);
    bare.expect_status(0);
    for (file, why) in [("relax-fuzzy.tunlet", "of the time is spent looking"), ("relax-script.tunlet", "1 took ")] {
        let tuned = relax(&mpi, folder.path(), 150, &["--tunlet", &documented(file).display().to_string(), "--json"]);
        tuned.expect_status(0);
        assert_eq!(tuned.stdout, bare.stdout);
        let decisions = decisions(&tuned);
        assert!(decisions.first().is_some_and(|one| one["why"].as_str().is_some_and(|text| text.contains(why))), "{file}: {decisions:?}");
        assert!(values(&decisions)[0] > 1.0, "{file}: {decisions:?}");
    }
}

#[test]
fn c643_a_script_that_loops_is_switched_off_and_the_program_goes_on() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let bare = relax(&mpi, folder.path(), 60, &[]);
    bare.expect_status(0);
    let text = std::fs::read_to_string(documented("relax-search.tunlet")).expect("a file");
    let (before, behind) = (text.split("[search]").next().expect("some"), text.split("[[tune]]").nth(1).expect("some"));
    let script = "script = '''\nfn happened(event) {\n    loop { this.again = true; }\n}\n'''\n";
    let text = format!("{script}{}[[tune]]{behind}", before.replace("use = \"search\"\n", ""));
    std::fs::write(folder.path().join("loops.tunlet"), text).expect("written");
    let tuned = relax(&mpi, folder.path(), 60, &["--tunlet", "loops.tunlet"]);
    tuned.expect_status(0);
    assert_eq!(tuned.stdout, bare.stdout);
    assert_eq!(tuned.stderr.matches("the script is disabled: loops.tunlet:").count(), 1, "{}", tuned.stderr);
    assert!(!tuned.stderr.contains("patience"), "{}", tuned.stderr);
}

#[test]
fn c644_a_file_with_a_mistake_is_an_error_with_its_place_before_anything_runs() {
    let folder = fresh_dir();
    let text = std::fs::read_to_string(documented("relax.tunlet")).expect("a file").replace("min(look.seconds)", "min(look.secnods)");
    std::fs::write(folder.path().join("wrong.tunlet"), text).expect("written");
    let own = [sintonia().as_str(), "tune", "--tunlet", "wrong.tunlet", "--", "touch", "ran"].map(String::from);
    let outcome = Process::new(own).limit(20).run_in(folder.path());
    outcome.expect_status(1);
    assert!(outcome.stderr.contains("wrong.tunlet:23:14: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("did you mean `look.seconds`?"), "{}", outcome.stderr);
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn c645_the_factoring_of_the_paper_as_a_file_tunes_the_fire() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let program = xfire(&mpi, folder.path(), SHORT_FIRE);
    let run =
        |own: Vec<String>| Process::new(own.into_iter().chain(mpi.launch(4, &program))).env(&mpi.env).limit(120).run_in(folder.path());
    let bare = run(Vec::new());
    bare.expect_status(0);
    let file = documented("factoring.tunlet").display().to_string();
    let tuned = run([&sintonia(), "tune", "--tunlet", &file, "-o", "tuned.sin", "--json", "--"].map(String::from).to_vec());
    tuned.expect_status(0);
    assert_eq!(tuned.stdout, bare.stdout);
    let decisions = decisions(&tuned);
    let first: Vec<(&str, f64)> =
        decisions.iter().take(3).map(|one| (one["action"].as_str().expect("a name"), one["new"].as_f64().expect("a number"))).collect();
    assert_eq!(first, [("F0", 0.5), ("F1", 0.5), ("F2", 0.5)], "{decisions:?}");
    let last = decisions.iter().rev().find(|one| one["action"] == "F0").expect("one of F0");
    assert!((0.3..0.98).contains(&last["new"].as_f64().expect("a number")), "{decisions:?}");
}

#[test]
fn c646_actors_are_known_by_the_role_they_had_in_a_recording() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let program = xfire(&mpi, folder.path(), "points = 1500\nspacing = 12\nend = 2\nsubsteps = 4\n");
    let file = |role: &str| {
        format!(
            "[[measure]]\nname = \"chunk\"\nactor = \"{role} of before.sin\"\nfunction = \"arcStepKernel\"\nvalues = [\"NTareas\"]\n\n[[tune]]\nvariable = \"F0\"\nactor = \"masters of before.sin\"\nrange = [0, 1]\nwhen = \"chunk\"\nvalue = \"0.25\"\n"
        )
    };
    std::fs::write(folder.path().join("roles.tunlet"), file("workers")).expect("written");
    let run = |words: &[&str]| {
        let own = [&[sintonia().as_str()], words, &["--"]].concat().iter().map(ToString::to_string).collect::<Vec<_>>();
        Process::new(own.into_iter().chain(mpi.launch(4, &program))).env(&mpi.env).limit(60).run_in(folder.path())
    };
    let early = run(&["tune", "--tunlet", "roles.tunlet", "-o", "tuned.sin"]);
    early.expect_status(1);
    assert!(early.stderr.contains("roles.tunlet:3:9") && early.stderr.contains("before.sin"), "{}", early.stderr);
    run(&["record", "-o", "before.sin"]).expect_status(0);
    std::fs::write(folder.path().join("typed.tunlet"), file("workers").replace("range =", "type = \"int\"\nrange =")).expect("written");
    let typed = run(&["tune", "--tunlet", "typed.tunlet", "-o", "typed.sin"]);
    assert!(typed.stderr.contains("`F0` is") && typed.stderr.contains("and not int as the tunlet says"), "{}", typed.stderr);
    let tuned = run(&["tune", "--tunlet", "roles.tunlet", "-o", "tuned.sin", "--json"]);
    tuned.expect_status(0);
    assert!(tuned.stderr.contains("\"action\":\"F0\",\"new\":0.25,\"old\":1.0,\"rank\":0"), "{}", tuned.stderr);
}
