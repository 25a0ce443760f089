//! Recordings from raw files: sealed, read, and damaged.

mod damage;
mod sealing;
mod support;
