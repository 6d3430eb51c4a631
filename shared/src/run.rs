//! From the command line to a running server: what every server's `main` does.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, FromArgMatches};
use tracing::level_filters::LevelFilter;

use crate::dispatch;
use crate::registry::Registry;
use crate::server::Server;
use crate::transport::Transport;
use crate::transport::stdio::Stdio;

/// Flags every server has, beside its own.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// How much to log to standard error: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "warn", env = "MCP_LOG")]
    log: LevelFilter,
}

/// Reads the command line, builds the server and serves it until the client is gone.
///
/// `C` holds the server's own flags; its doc comment is the text of `--help`. `build` runs within
/// the runtime, which has one thread: a server spends its time waiting, and work that does not
/// wait belongs into [`crate::Context::blocking`].
///
/// The exit code is 0 when the client closed the connection and 1 when the server could not start
/// or the connection broke; 2 is a wrong command line.
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
    report(run(&common, || build(config)?.into_registry()))
}

fn report(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
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
    tracing_subscriber::fmt()
        .with_max_level(common.log)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let stdio = Stdio::take()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let registry = build()?;
        dispatch::serve(registry, stdio.into_transport()?).await?;
        Ok(())
    });
    // Threads of cancelled calls may still be busy; nobody waits for them any more.
    runtime.shutdown_background();
    served
}

impl<S: Send + Sync + 'static> Server<S> {
    /// Serves one peer over any transport, until it has closed and what it asked for is done.
    ///
    /// # Errors
    /// If the server is put together wrongly, or the transport breaks.
    pub async fn serve(self, transport: impl Transport) -> anyhow::Result<()> {
        dispatch::serve(self.into_registry()?, transport).await?;
        Ok(())
    }
}
