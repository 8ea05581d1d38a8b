//! Finds the three browser engines and their drivers. On Debian, apt-get installs missing engines and drivers, except
//! for geckodriver. On every system, cargo installs a missing geckodriver.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::debian;
use crate::environment::{Environment, find_in_path};
use crate::tools::Tool;
use crate::workspace::Workspace;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Engine {
    Chromium,
    Firefox,
    Webkit,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox",
            Self::Webkit => "webkit",
        })
    }
}

/// A browser and its WebDriver.
pub(crate) struct Browser {
    engine: Engine,
    binary: PathBuf,
    driver: PathBuf,
}

/// A browser, or a text that names the missing program and the command that installs it.
pub(crate) type Found = Result<Browser, String>;

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Chromium, Self::Firefox, Self::Webkit];

    /// Finds the browser, and installs it if possible.
    pub(crate) fn set_up(self, workspace: &Workspace, cache: &Cache) -> Found {
        if let Err(missing) = self.find_browser() {
            if !debian::can_install() {
                return Err(missing);
            }
            debian::install(&self.to_string(), self.packages(), &workspace.log("apt"))
                .map_err(|error| format!("{missing}; apt-get failed: {error:#}"))?;
        }
        let (binary, driver) = self.find_browser()?;
        let driver = match driver {
            Some(driver) => driver,
            None => Tool::geckodriver(workspace)
                .and_then(|tool| tool.folder(workspace, cache))
                .map(|folder| folder.join("geckodriver"))
                .map_err(|error| format!("geckodriver is missing: {error:#}"))?,
        };
        Ok(Browser { engine: self, binary, driver })
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Chromium => &["chromium", "chromium-driver"],
            Self::Firefox => &["firefox-esr"],
            Self::Webkit => &["webkit2gtk-driver", "xvfb", "xauth"],
        }
    }

    /// Returns the browser and its driver. The driver of Firefox is `None`: geckodriver is a [`Tool`], which
    /// [`Self::set_up`] finds in PATH or installs.
    fn find_browser(self) -> Result<(PathBuf, Option<PathBuf>), String> {
        let find_first = |names: &[&str]| names.iter().find_map(|name| find_in_path(name));
        match self {
            Self::Chromium => {
                let binary = find_first(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
                    .or_else(|| existing("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"))
                    .ok_or("no chromium or google-chrome in PATH; install Chromium or Chrome")?;
                let driver = find_first(&["chromedriver"])
                    .ok_or("no chromedriver in PATH; install the version that matches Chromium")?;
                Ok((binary, Some(driver)))
            }
            Self::Firefox => {
                let binary = find_first(&["firefox-esr", "firefox"])
                    .or_else(|| existing("/Applications/Firefox.app/Contents/MacOS/firefox"))
                    .ok_or("no firefox in PATH; install Firefox")?;
                Ok((binary, None))
            }
            Self::Webkit => {
                let advice = "on Debian and Ubuntu, run `apt-get install webkit2gtk-driver xvfb xauth`; on other systems, tests cannot control WebKit";
                let driver =
                    find_first(&["WebKitWebDriver"]).ok_or_else(|| format!("no WebKitWebDriver in PATH; {advice}"))?;
                find_first(&["xvfb-run"]).ok_or_else(|| format!("no xvfb-run in PATH; {advice}"))?;
                let binary = minibrowser()
                    .ok_or_else(|| format!("no MiniBrowser of WebKitGTK under /usr/lib or /usr/libexec; {advice}"))?;
                Ok((binary, Some(driver)))
            }
        }
    }
}

impl Browser {
    /// Returns the environment of wasm-bindgen-test-runner, with the paths of the driver and of the capabilities file.
    pub(crate) fn for_runner(&self, environment: Environment, capabilities: &Path) -> Environment {
        let environment = environment.with("WASM_BINDGEN_TEST_WEBDRIVER_JSON", capabilities);
        match self.engine {
            Engine::Chromium => environment.with("CHROMEDRIVER", &self.driver),
            Engine::Firefox => environment.with("GECKODRIVER", &self.driver).with("MOZ_HEADLESS", "1"),
            // The runner has no variable for WebKitWebDriver, but starts the program in SAFARIDRIVER in the same way.
            // The sandbox of WebKit requires privileges that containers do not have.
            Engine::Webkit => {
                environment.with("SAFARIDRIVER", &self.driver).with("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")
            }
        }
    }

    /// Returns the WebDriver capabilities with which a driver starts this browser.
    pub(crate) fn capabilities(&self) -> Value {
        match self.engine {
            Engine::Chromium => json!({ "goog:chromeOptions": { "binary": self.binary, "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage",
            ] } }),
            Engine::Firefox => json!({ "moz:firefoxOptions": { "binary": self.binary, "args": ["-headless"] } }),
            Engine::Webkit => {
                json!({ "webkitgtk:browserOptions": { "binary": self.binary, "args": ["--automation"] } })
            }
        }
    }

    /// Returns the command prefix that provides a virtual screen, if this browser requires a screen.
    pub(crate) fn screen_command(&self) -> &'static [&'static str] {
        match self.engine {
            Engine::Chromium | Engine::Firefox => &[],
            Engine::Webkit => &["xvfb-run", "-a"],
        }
    }

    /// Returns the environment in which Node scripts find this browser.
    pub(crate) fn for_scripts(&self, environment: Environment) -> Environment {
        match self.engine {
            Engine::Chromium => {
                environment.with("PORTWAY_CHROMIUM", &self.binary).with("PORTWAY_CHROMEDRIVER", &self.driver)
            }
            Engine::Firefox => {
                environment.with("PORTWAY_FIREFOX", &self.binary).with("PORTWAY_GECKODRIVER", &self.driver)
            }
            Engine::Webkit => environment
                .with("PORTWAY_MINIBROWSER", &self.binary)
                .with("PORTWAY_WEBKITDRIVER", &self.driver)
                .with("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1"),
        }
    }
}

impl fmt::Display for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, driven by {}", self.binary.display(), self.driver.display())
    }
}

fn existing(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.exists())
}

/// Finds MiniBrowser, the test browser of WebKitGTK. Systems do not install MiniBrowser in PATH.
fn minibrowser() -> Option<PathBuf> {
    // Some systems have a subfolder for each architecture, such as /usr/lib/x86_64-linux-gnu.
    let folders = ["/usr/lib", "/usr/libexec"].iter().flat_map(|root| {
        let subfolders = Path::new(root).read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        subfolders.chain([PathBuf::from(root)]).collect::<Vec<_>>()
    });
    folders
        .flat_map(|folder| {
            ["webkit2gtk-4.1", "webkitgtk-6.0", "webkit2gtk-4.0"].map(|name| folder.join(name).join("MiniBrowser"))
        })
        .find(|file| file.is_file())
}
