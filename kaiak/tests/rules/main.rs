//! Tests of rules, of their fixes and of workspaces, with real files and processes.
#![cfg(unix)]

mod command;
mod find;
mod fix;
mod jakarta;
mod load;
mod project;
mod workspace;
mod writes;
