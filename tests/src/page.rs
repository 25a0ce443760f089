//! The page in a browser: runs the scenarios of `crates/view/web/test`, which are written in JavaScript.

use std::path::PathBuf;

use crate::{Process, workspace};

/// Runs a scenario on the page at an address.
pub fn run_scenario(name: &str, address: &str) {
    let browser = browser();
    assert!(browser.is_file(), "there is no {}: run `tests/setup debian`, or say where it is with CHROMIUM", browser.display());
    run_in_web(&["node", "test/run.mjs", name, address]);
}

/// Runs a command in the directory of the page.
pub fn run_in_web(command: &[&str]) {
    let web = workspace().join("crates/view/web");
    assert!(web.join("node_modules/playwright-core").is_dir(), "what drives the browser is not there: run `make page`");
    let run = Process::new(command.iter().copied()).limit(240).run_in(&web);
    println!("{}", run.stdout);
    run.expect_status(0);
}

fn browser() -> PathBuf {
    std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from)
}
