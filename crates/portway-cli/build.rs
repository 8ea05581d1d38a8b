//! Generates the code that embeds the built page of the inspector in the command. If the folder `page` does not contain
//! the page, the code embeds no file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The only file of the folder `page` that Git does not ignore. This file is not part of the page.
const NOT_OF_THE_PAGE: &str = "README.md";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=page");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let folder = variable("CARGO_MANIFEST_DIR")?.join("page");
    let mut names = Vec::new();
    if folder.is_dir() {
        list(&folder, "", &mut names)?;
    }
    names.sort();
    let mut code = String::from("&[\n");
    for name in &names {
        writeln!(code, "    ({name:?}, include_bytes!({:?}).as_slice()),", folder.join(name))
            .map_err(io::Error::other)?;
    }
    code.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("page.rs"), code)
}

/// Adds the paths of all files below `folder`, except [`NOT_OF_THE_PAGE`], to `names`. Each path begins with `prefix`,
/// and has `/` between its parts.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else if name != NOT_OF_THE_PAGE {
            names.push(name);
        }
    }
    Ok(())
}
