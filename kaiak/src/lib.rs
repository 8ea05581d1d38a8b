//! Finds the places in a workspace that a migration must change, and fixes them by rules.

#[cfg(not(unix))]
compile_error!("kaiak needs Unix, since it opens the files of a workspace relative to file descriptors");

pub mod rules;
pub mod workspace;
