//! Installs packages on Debian and its derivatives, if this process has the privileges.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::environment::find_in_path;
use crate::process::{run_ok, step};

/// The lock that is held while apt-get runs, because a second apt-get would fail.
static APT: Mutex<()> = Mutex::new(());

/// Returns whether packages can be installed without a password prompt.
pub(crate) fn can_install() -> bool {
    find_in_path("apt-get").is_some() && privilege().is_some()
}

/// Installs `packages`. The printed line contains `purpose`.
pub(crate) fn install(purpose: &str, packages: &[&str], log: &Path) -> Result<()> {
    let prefix = privilege().context("apt-get requires root, or sudo without a password")?;
    let apt = |arguments: &[&str]| {
        let mut words = prefix.to_vec();
        words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]);
        words.extend(arguments);
        let Some((program, arguments)) = words.split_first() else { bail!("nothing to run") };
        run_ok(Command::new(program).args(arguments), log, Duration::from_secs(600))
    };
    let _lock = APT.lock().unwrap_or_else(PoisonError::into_inner);
    step(&format!("{purpose}: apt-get install {}", packages.join(" ")), || {
        let mut arguments = vec!["install", "-y", "--no-install-recommends"];
        arguments.extend(packages);
        // A fresh container has no package lists, so the first attempt fails. Other machines need no update.
        if apt(&arguments).is_err() {
            apt(&["update"])?;
            apt(&arguments)?;
        }
        Ok(())
    })
}

/// Returns the command prefix that grants root privileges, or `None` if a password would be necessary.
fn privilege() -> Option<&'static [&'static str]> {
    let succeeds = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if succeeds("sh", &["-c", "test \"$(id -u)\" = 0"]) {
        return Some(&[]);
    }
    succeeds("sudo", &["-n", "true"]).then_some(&["sudo", "-n"])
}
