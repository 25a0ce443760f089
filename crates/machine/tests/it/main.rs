//! Machine files: what is read and written, and what their figures mean.

mod bench;
mod file;
mod formulas;
mod random;
mod topology;
