//! The same questions about the same file to DuckDB, polars and pandas, from PyPI, each in a process
//! of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use workspace_tests::install::{install_once, run};

use crate::workspace::Workspace;

pub(crate) const ENGINES: [&str; 3] = ["duckdb", "polars", "pandas"];
const PACKAGES: [&str; 3] = ["duckdb==2.0.1", "polars==2.1.0", "pandas==3.1.1"];
const SCRIPT: &str = include_str!("csv_peers.py");

/// What answering one question took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) peak_mb: f64,
}

/// Where the packages were installed.
pub(crate) fn install(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_dir.join("bench-peers/csv");
    std::fs::create_dir_all(&folder)?;
    install_once(&folder, &PACKAGES.join(" "), || {
        let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "--target"];
        run(Command::new("python3").args(pip).arg(&folder).args(PACKAGES))
    })?;
    Ok(folder)
}

pub(crate) fn ask(packages: &Path, engine: &str, question: &str, file: &Path) -> Result<Effort> {
    eprintln!("csv: {question} by {engine}");
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, engine, question]).arg(file).env("PYTHONPATH", packages);
    let output = python.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{engine}: {}", said.lines().last().unwrap_or_default());
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| found.get(key).and_then(Value::as_f64).context("no such figure");
    Ok(Effort { cpu_s: number("cpu_s")?, wall_s: number("wall_s")?, peak_mb: number("peak_mb")? })
}
