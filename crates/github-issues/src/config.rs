//! The command line and the environment. The token is never a flag: other users of a machine can
//! read those.

use std::path::PathBuf;

/// An MCP server for the issues of GitHub repositories.
#[derive(Debug, Clone, Default, clap::Parser)]
#[command(version)]
pub(crate) struct Config {
    /// Repositories that may be touched, as `owner/name` or `owner/*`; all the token can reach if
    /// not given. With exactly one, tools need not name it
    #[arg(long, value_name = "REPO", value_delimiter = ',')]
    pub(crate) repos: Vec<String>,
    /// Of these, the repositories that may be changed, in the same form; all of them if not given
    #[arg(long, value_name = "REPO", value_delimiter = ',')]
    pub(crate) write_repos: Vec<String>,
    /// Offer no tool that writes, and send no request that does
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Withhold text by people who are not owner, member or collaborator of the repository
    #[arg(long)]
    pub(crate) lockdown: bool,
    /// Do not ask before deleting and before changing many issues at once
    #[arg(long)]
    pub(crate) yes: bool,
    /// File that holds the token; else GITHUB_TOKEN or GITHUB_PERSONAL_ACCESS_TOKEN is used
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Sign in as an installation of this GitHub App instead of by a token
    #[cfg(feature = "github-app")]
    #[arg(long, value_name = "ID", requires_all = ["app_installation_id", "app_key_file"], conflicts_with = "token_file")]
    pub(crate) app_id: Option<u64>,
    /// The installation of the App
    #[cfg(feature = "github-app")]
    #[arg(long, value_name = "ID", requires = "app_id")]
    pub(crate) app_installation_id: Option<u64>,
    /// The App's private key, a PEM file
    #[cfg(feature = "github-app")]
    #[arg(long, value_name = "FILE", requires = "app_id")]
    pub(crate) app_key_file: Option<PathBuf>,
    /// GitHub's API, or the host of a GitHub Enterprise Server
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://api.github.com",
        env = "GITHUB_API_URL"
    )]
    pub(crate) api_url: String,
    /// Accept plain http for hosts other than this machine
    #[arg(long)]
    pub(crate) allow_http: bool,
    /// How long a call may wait for GitHub's rate limit; one that would wait longer is told when
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) max_wait_secs: u64,
    /// Pause between two writes; GitHub asks for a second, an Enterprise Server may not mind
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000)]
    pub(crate) write_pause_ms: u64,
    /// How long GitHub may take for one request
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) request_timeout_secs: u64,
    /// How often resources somebody has subscribed to are looked at
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) poll_secs: u64,
}
