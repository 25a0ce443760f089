//! The front ends: what is read, what is refused, and the models of programs.

mod c_messages;
mod c_read;
mod c_total;
mod figure2;
mod java;
mod pasl;
mod rounds;
mod support;
mod total;
