//! The page: shows recordings in a browser, served on loopback or written as a standalone file.
//!
//! Both contain the same page (`web/`), which sends the same queries: a *subject* of a recording with *parameters*. The server can answer
//! any query; a standalone file has the answers to queries without parameters embedded. See `docs/view-answers.md` for all queries and
//! answers.

#![forbid(unsafe_code)]

mod analysis;
mod answer;
mod cache_file;
mod gzip;
mod index;
mod jobs;
pub mod page_contents;
pub mod program_graph;
mod rank_groups;
mod report_store;
#[cfg(test)]
mod sample;
mod selected;
pub mod server;
pub mod session;
mod source_text;
mod stacks;
pub mod standalone;
mod subject;
mod subjects;
pub mod temp_files;
mod timeline;

pub use subjects::QuestionHandler;
pub use subjects::report::ReportJson;

/// The page as HTML text; `None` if the command was built without it.
pub fn page() -> Option<&'static str> {
    #[cfg(has_page)]
    return Some(include_str!("../web/dist/page.html"));
    #[cfg(not(has_page))]
    None
}
