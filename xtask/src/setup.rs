//! The tools of the commands. A tool is installed when it is first used.

use std::sync::OnceLock;

use anyhow::Result;

use crate::browsers::{Engine, Found};
use crate::cache::Cache;
use crate::environment::Environment;
use crate::npm_install;
use crate::test::{kaiak, peers};
use crate::toolchain::Toolchain;
use crate::tools::{self, Tool};
use crate::workspace::Workspace;

pub(crate) struct Setup {
    pub(crate) workspace: Workspace,
    pub(crate) cache: Cache,
    toolchain: OnceLock<Toolchain>,
}

impl Setup {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { workspace: Workspace::find()?, cache: Cache::open()?, toolchain: OnceLock::new() })
    }

    /// Returns the toolchain that builds for wasm32.
    pub(crate) fn toolchain(&self) -> Result<&Toolchain> {
        if let Some(toolchain) = self.toolchain.get() {
            return Ok(toolchain);
        }
        let toolchain = Toolchain::for_wasm(&self.workspace, &self.cache)?;
        Ok(self.toolchain.get_or_init(|| toolchain))
    }

    /// Returns the environment with cargo and rustc for wasm32, wasm-bindgen and its test runner, and wasm-pack.
    pub(crate) fn wasm(&self) -> Result<Environment> {
        let Self { workspace, cache, .. } = self;
        let environment = self.toolchain()?.environment(workspace);
        let bindgen = Tool::wasm_bindgen(workspace)?.folder(workspace, cache)?;
        let pack = Tool::wasm_pack(workspace)?.folder(workspace, cache)?;
        Ok(environment.with_path(bindgen).with_path(pack))
    }

    /// Returns the environment in which the programs of the npm packages are in PATH.
    pub(crate) fn node(&self) -> Result<Environment> {
        Ok(Environment::default().with_path(npm_install::ensure(&self.workspace)?))
    }

    /// Returns the environment with the wasm tools and Node, for scripts that call wasm-pack.
    pub(crate) fn wasm_and_node(&self) -> Result<Environment> {
        Ok(self.wasm()?.with_path(npm_install::ensure(&self.workspace)?))
    }

    /// Finds a browser, and installs it if possible.
    pub(crate) fn browser(&self, engine: Engine) -> Found {
        engine.set_up(&self.workspace, &self.cache)
    }

    /// Installs and lists the tools, except for those of `coverage`, `fuzz` and the suite `kaiak-agents`. Returns
    /// `false` if a browser or another program cannot be installed.
    pub(crate) fn install_all_tools(&self) -> Result<bool> {
        self.wasm()?;
        self.node()?;
        npm_install::environments(&self.workspace, &self.cache)?;
        npm_install::mcp_apps(&self.workspace, &self.cache)?;
        println!("wasm      {}", self.toolchain()?.describe());
        let mut complete = true;
        for engine in Engine::ALL {
            match self.browser(engine) {
                Ok(browser) => println!("{engine:<9} {browser}"),
                Err(missing) => {
                    complete = false;
                    println!("{engine:<9} missing: {missing}");
                }
            }
        }
        match peers::set_up(self) {
            Ok(()) => println!("peers     Emacs, aria2, websocketd, ganache, Python and its packages"),
            Err(missing) => {
                complete = false;
                println!("peers     missing: {missing:#}");
            }
        }
        match kaiak::set_up(self) {
            Ok(()) => println!("kaiak     a JDK, the JARs of Jakarta EE, tomcat-jakartaee-migration"),
            Err(missing) => {
                complete = false;
                println!("kaiak     missing: {missing:#}");
            }
        }
        println!("cache     {}", self.cache.root().display());
        tools::remove_build_products(&self.cache)?;
        Ok(complete)
    }

    /// Prints lines for a shell, with which a user can call cargo and wasm-pack without xtask.
    pub(crate) fn print_environment(&self) -> Result<bool> {
        print!("{}", self.wasm_and_node()?.to_shell()?);
        Ok(true)
    }
}
