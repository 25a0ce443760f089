//! Text for users. Positions and hints for error messages about text files, so that all of Sintonia's readers report errors in the same
//! way: line and column with the marked line ([`line_col`], with a file [`source_pos`]), and the name that was probably meant
//! ([`suggestion`]). Amounts with their units ([`quantity`]), lists of ranks
//! ([`rank_list`]), lines that fit on a screen ([`layout`]), names of functions ([`function_name`]) and files ([`path`]), commands to paste ([`shell`]).

#![forbid(unsafe_code)]

pub mod function_name;
pub mod layout;
pub mod line_col;
pub mod path;
pub mod quantity;
pub mod rank_list;
pub mod shell;
pub mod source_pos;
pub mod suggestion;
