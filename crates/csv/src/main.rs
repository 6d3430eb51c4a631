//! Stands in for the server until its tools exist: prints the analysis of one file as JSON.
//!
//! `mcp-csv DIR FILE [OPERATION…]`

mod backend;

#[cfg(test)]
mod tests;

use std::io::Write as _;

use backend::{Analyze, Backend, Observer};

struct Quiet;

impl Observer for Quiet {
    fn progress(&self, _: u64, _: u64, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap_or_else(|| ".".to_owned());
    let filepath = args.next().unwrap_or_default();
    let operations = args.map(|name| serde_json::from_value(name.into()));
    let request = Analyze {
        filepath,
        operations: operations.collect::<Result<_, _>>()?,
        columns: None,
    };
    let analysis = Backend::open(&[dir.into()])?.analyze(&request, &Quiet)?;
    writeln!(
        std::io::stdout(),
        "{}",
        serde_json::to_string_pretty(&analysis)?
    )?;
    Ok(())
}
