//! Guards changes: a change is kept only if it pays, measured in turns with the values that the program began with.
//!
//! Before and after would not do: programs get faster and slower by themselves, and machines are shared. So the beginning is measured again
//! between the turns with the change ([`paired`]), and only iterations that ran entirely after a confirmed switch count ().

pub mod paired;
