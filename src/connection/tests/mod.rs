//! The connection against itself, on virtual time: a pair of them with a wire that takes time.

mod calls;
mod pair;
mod requests;
