//! PAMELA models: their text, their compilation, and their times on a machine.

mod bounds;
mod estimate;
mod figure4;
mod text;
mod text_page;
mod text_round_trip;
