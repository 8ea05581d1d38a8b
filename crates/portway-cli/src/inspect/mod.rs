//! `portway inspect`, and the page of `portway tap --inspect`: a server for the page of the inspector.

mod arguments;
mod files;
mod history;
mod page;
mod programs;
mod server;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use portway_cli_support::signals::Signals;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

#[cfg(test)]
pub(crate) use self::arguments::INSPECT_NOTES;
pub(crate) use self::arguments::InspectArguments;
use self::files::OpenedFile;
use self::history::History;
pub(crate) use self::page::Page;
use self::server::{Server, Site};
use crate::limits::{MAX_INSPECTOR_BYTES, TAP_FLUSH_TIMEOUT};
use crate::output::{Failure, print_message};
use crate::program::UNREACHABLE;

pub(crate) fn run(arguments: &InspectArguments) -> Result<ExitCode, Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failure)?;
    runtime.block_on(inspect(arguments)).map(|()| ExitCode::SUCCESS)
}

async fn inspect(arguments: &InspectArguments) -> Result<(), Failure> {
    let failure = |error: io::Error| Failure::new(UNREACHABLE, error.to_string());
    let files = arguments.files.iter().map(|path| OpenedFile::read(path)).collect::<Result<_, _>>()?;
    let page = Page::load()?;
    // A pipe or a terminal can block the reads above. The signals are registered only after these reads, so that a
    // signal during the reads ends the process.
    let mut signals = Signals::listen().map_err(failure)?;
    let inspector = Inspector::start(arguments.port, "portway inspect", page, files).await?;
    let listener = match &arguments.listen_records {
        Some(path) => Some(programs::listen(path).await?),
        None => None,
    };
    inspector.print_address();
    tokio::select! {
        _ = signals.next() => {}
        () = programs::accept(listener, &inspector.history) => {}
    }
    inspector.finish().await;
    Ok(())
}

/// A running server of the page.
#[derive(Debug)]
pub(crate) struct Inspector {
    address: String,
    history: Arc<History>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl Inspector {
    /// Starts the server for `portway tap`.
    pub(crate) async fn for_tap(page: Page) -> Result<Self, Failure> {
        let inspector = Self::start(0, "portway tap", page, Vec::new()).await?;
        inspector.print_address();
        Ok(inspector)
    }

    async fn start(port: u16, command: &'static str, page: Page, files: Vec<OpenedFile>) -> Result<Self, Failure> {
        let history = History::new(MAX_INSPECTOR_BYTES);
        let site = Site { page, files, history: Arc::clone(&history), command };
        let server = Server::listen(port, site).await?;
        let address = server.address();
        let (stop, stopped) = watch::channel(false);
        Ok(Self { address, history, stop, server: tokio::spawn(server.serve(stopped)) })
    }

    fn print_address(&self) {
        print_message(format_args!("the inspector is at {}", self.address));
    }

    /// Returns a writer for records, one JSON object a line. Writing never waits for a page.
    pub(crate) fn writer(&self) -> impl Write + Send + use<> {
        self.history.writer()
    }

    /// Ends the server. Waits at most [`TAP_FLUSH_TIMEOUT`] for pages that still read records.
    pub(crate) async fn finish(self) {
        self.history.end();
        self.stop.send_replace(true);
        let _ = timeout(TAP_FLUSH_TIMEOUT, self.server).await;
    }
}
