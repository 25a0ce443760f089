//! The page: what a recording shows in a browser, served on loopback or written as one file.
//!
//! Both homes hold the same page (`web/`), and the page asks both the same questions: a *subject* of a recording, with a *query*. Served, a
//! question is a request and any query can be answered; in a file, the answers to the plain questions lie beside the page. What is asked and
//! answered is listed in `docs/view-answers.md`.

mod analysis;
pub mod answer;
pub mod aside;
pub mod file;
mod gzip;
mod index;
pub mod rows;
#[cfg(test)]
mod sample;
pub mod server;
mod store;
pub mod timeline;

/// The page as one HTML text; `None` if the command was built without it.
pub fn page() -> Option<&'static str> {
    #[cfg(has_page)]
    return Some(include_str!("../web/dist/page.html"));
    #[cfg(not(has_page))]
    None
}
