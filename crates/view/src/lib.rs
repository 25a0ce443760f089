//! The page: shows recordings in a browser, served on loopback or written as a standalone file.
//!
//! Both contain the same page (`web/`), which sends the same queries: a *subject* of a recording with *parameters*. The server can answer
//! any query; a standalone file has the answers to queries without parameters embedded. See `docs/view-answers.md` for all queries and
//! answers.

#![forbid(unsafe_code)]

mod analysis;
pub mod answer;
mod cache_file;
mod gzip;
mod index;
pub mod rank_groups;
#[cfg(test)]
mod sample;
pub mod server;
pub mod standalone;
pub mod temp_files;
pub mod timeline;

/// The page as HTML text; `None` if the command was built without it.
pub fn page() -> Option<&'static str> {
    #[cfg(has_page)]
    return Some(include_str!("../web/dist/page.html"));
    #[cfg(not(has_page))]
    None
}
