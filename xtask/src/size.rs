//! `cargo xtask size`: what a page downloads, against the budget in wasm-pack.toml.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::build;
use crate::process::capture;
use crate::setup::Setup;

#[derive(Deserialize)]
struct Measured {
    raw: u64,
    gzip: u64,
    brotli: u64,
}

pub(crate) fn run(setup: &Setup) -> Result<bool> {
    build::run(setup)?;
    let workspace = &setup.workspace;
    let size = workspace.matrix()?.size;
    let mut command = setup.node()?.command("node", &workspace.path("pkg"))?;
    command.arg(workspace.path("xtask/js/sizes.mjs")).args(&size.files);
    let measured: Vec<Measured> = serde_json::from_str(&capture(&mut command)?).context("sizes.mjs")?;

    println!("{:<18} {:>8} {:>8} {:>8}", "file", "raw", "gzip -9", "brotli");
    for (file, Measured { raw, gzip, brotli }) in size.files.iter().zip(&measured) {
        println!("{file:<18} {raw:>8} {gzip:>8} {brotli:>8}");
    }
    let sum = |part: fn(&Measured) -> u64| measured.iter().map(part).sum::<u64>();
    let gzip = sum(|file| file.gzip);
    println!("{:<18} {:>8} {gzip:>8} {:>8}", "together", sum(|file| file.raw), sum(|file| file.brotli));

    let within = gzip <= size.gzip_budget;
    let verdict = if within { "within" } else { "ABOVE" };
    println!("{gzip} bytes of gzip, {verdict} the budget of {}", size.gzip_budget);
    Ok(within)
}
