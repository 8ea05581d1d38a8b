//! Suite `kaiak`: the tests of the package `kaiak`, with a JDK, the JARs of Jakarta EE and the migration tool of
//! Tomcat.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::environment::find_in_path;
use crate::process::{self, clear};
use crate::setup::Setup;
use crate::test::Run;
use crate::test::report::Verdict;
use crate::toolchain::cargo;

/// The programs of the tests, with their packages on Debian.
const PROGRAMS: [(&str, &str); 3] =
    [("git", "git"), ("javac", "default-jdk-headless"), ("javax2jakarta", "tomcat-jakartaee-migration")];

/// The JARs of the tests, with their packages on Debian.
const JARS: [(&str, &str); 2] = [
    ("/usr/share/java/jakarta-servlet-api.jar", "libjakarta-servlet-api-java"),
    ("/usr/share/java/jakarta-annotation-api.jar", "libjakarta-annotation-api-java"),
];

/// Maximum time of the suite, with its compilation.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the tests, if `--only` names the suite. Without `--only`, the suite `native` runs the tests that need no Java.
pub(super) fn run(suites: &Run<'_>) {
    if !suites.is_named {
        return;
    }
    if let Err(missing) = set_up(suites.setup) {
        suites.add_missing("kaiak", "host", &format!("{missing:#}"));
        return;
    }
    suites.suite("kaiak", "host", suites.setup.node(), |setup, node| {
        let workspace = &setup.workspace;
        let log = workspace.test_log("kaiak");
        clear(&log)?;
        let environment = node.with("KAIAK_NEEDS_PROGRAMS", "1");
        let mut command = environment.command(&cargo().to_string_lossy(), &workspace.root)?;
        command.args(["test", "--package", "kaiak", "--no-fail-fast"]);
        Ok(Verdict::from_cargo(&process::run(&mut command, &log, LIMIT)?))
    });
}

/// Installs the missing packages.
pub(crate) fn set_up(setup: &Setup) -> Result<()> {
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    let how = format!("install {} (packages of Debian)", packages.join(", "));
    if !debian::can_install() {
        bail!(how);
    }
    debian::install("Java and Jakarta EE", &packages, &setup.workspace.log("install-kaiak")).context(how)
}

/// Returns the packages whose programs or JARs are missing.
fn missing() -> Vec<&'static str> {
    let programs = PROGRAMS.into_iter().filter(|(program, _)| find_in_path(program).is_none());
    let jars = JARS.into_iter().filter(|(jar, _)| !Path::new(jar).exists());
    programs.chain(jars).map(|(_, package)| package).collect()
}
