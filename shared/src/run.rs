//! From the command line to a running server: what every server's `main` does.

use std::future::pending;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, FromArgMatches};

use crate::args::Common;
use crate::dispatch;
use crate::platform;
use crate::registry::Registry;
use crate::server::Server;
use crate::transport::Transport;
use crate::transport::stdio::Stdio;

/// Reads the command line, builds the server and serves it until the client is gone or SIGTERM or
/// SIGINT comes (on Windows: Ctrl-C, Ctrl-Break, or the end of the console).
///
/// `C` holds the server's own flags; its doc comment is the text of `--help`. `build` runs within
/// the runtime, which has one thread: a server spends its time waiting, and work that does not
/// wait belongs into [`crate::Context::blocking`].
///
/// The exit code is 0 when the client closed the connection or we were told to stop, and 1 when
/// the server could not start or the connection broke; 2 is a wrong command line.
pub fn main<C, S>(build: impl FnOnce(C) -> anyhow::Result<Server<S>>) -> ExitCode
where
    C: CommandFactory + FromArgMatches,
    S: Send + Sync + 'static,
{
    let matches = Common::augment_args(C::command()).get_matches();
    let parsed = C::from_arg_matches(&matches)
        .and_then(|own| Ok((own, Common::from_arg_matches(&matches)?)));
    let (config, common) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => error.exit(),
    };
    match run(&common, || build(config)?.into_registry_with(&common)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    common: &Common,
    build: impl FnOnce() -> anyhow::Result<Arc<Registry>>,
) -> anyhow::Result<()> {
    common.start_logging();
    #[cfg(feature = "http")]
    if let Some(options) = common.http.options()? {
        return run_http(options, build);
    }
    let stdio = Stdio::take()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let registry = build()?;
        let max_bytes = registry.limits.max_message_bytes;
        dispatch::serve(registry, stdio.into_transport(max_bytes)?, told_to_stop()?).await?;
        Ok(())
    });
    // Threads of cancelled calls may still be busy; nobody waits for them any more.
    runtime.shutdown_background();
    served
}

#[cfg(feature = "http")]
fn run_http(
    options: crate::http::Options,
    build: impl FnOnce() -> anyhow::Result<Arc<Registry>>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let registry = build()?;
        crate::http::serve(registry, options, told_to_stop()?).await
    });
    runtime.shutdown_background();
    served
}

/// Ends when the system or the user wants us to.
fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    let told = platform::told_to_stop()?;
    Ok(async move {
        told.await;
        tracing::info!("told to stop");
    })
}

impl<S: Send + Sync + 'static> Server<S> {
    /// Serves one peer over any transport, until it has closed and what it asked for is done.
    ///
    /// # Errors
    /// If the server is put together wrongly, or the transport breaks.
    pub async fn serve(self, transport: impl Transport) -> anyhow::Result<()> {
        dispatch::serve(self.into_registry()?, transport, pending()).await?;
        Ok(())
    }

    fn into_registry_with(mut self, common: &Common) -> anyhow::Result<Arc<Registry>> {
        common.apply(self.registry_mut())?;
        self.into_registry()
    }
}
