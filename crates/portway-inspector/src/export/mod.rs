//! Exports: the names of their files.

mod name;

pub use name::{Format, MAX_VALUE_LENGTH, NameFilter, iso_time, name};
