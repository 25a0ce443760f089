//! Embeds the page if `make page` has built it. Without it cargo needs no Node, and the command says how to build the page.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    println!("cargo::rerun-if-changed=web/dist");
    if Path::new("web/dist/page.html").is_file() {
        println!("cargo::rustc-cfg=has_page");
    }
}
