//! What an error tells about a text, so that every file Sintonia reads is complained about in the same way: the line and the column, the
//! line itself with a mark below ([`spot`], in a file [`place`]), and the name that was probably meant ([`near`]).

pub mod near;
pub mod place;
pub mod spot;
