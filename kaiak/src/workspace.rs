//! The files of a workspace. All modules read and write files of a workspace through this module.
