//! Exports: the names of their files.

mod name;

pub use name::{Format, NameFilter, iso_time, name};
