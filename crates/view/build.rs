//! Embeds the page where `make page` has built it. Cargo alone needs no Node: without the page the command says how to build it.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    println!("cargo::rerun-if-changed=web/dist");
    if Path::new("web/dist/page.html").is_file() {
        println!("cargo::rustc-cfg=has_page");
    }
}
