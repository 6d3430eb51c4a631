//! How much a server that speaks on its standard streams alone costs to build and to carry: crates in its tree, bytes of its binary, seconds
//! of a clean build and of the rebuild after an edit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use super::metric::Target::{self, AtMost};
use super::procfs;
use super::report::Report;
use crate::workspace::{Profile, Server, Workspace, run as run_command};

const MAX_CRATES: Target = AtMost(60.0);
const MAX_BINARY_MB: Target = AtMost(2.5);
const MAX_CLEAN_BUILD_CPU_S: Target = AtMost(90.0);
const MAX_REBUILD_S: Target = AtMost(5.0);
/// The quickest counts: a busy neighbour can only make a build slower.
const REBUILDS: usize = 3;

pub(crate) fn measure(workspace: &Workspace, quick: bool, report: &mut Report) {
    let outcome = tree_and_binary(workspace, report);
    let outcome = outcome.and_then(|server| {
        if quick {
            report.skip("size: clean build and rebuild", "--quick");
            return Ok(());
        }
        builds(workspace, &server, report)
    });
    if let Err(error) = outcome {
        report.skip("size", &format!("{error:#}"));
    }
}

fn tree_and_binary(workspace: &Workspace, report: &mut Report) -> Result<Server> {
    let servers = workspace.select(&["calculator".to_owned()])?;
    let server = servers.into_iter().next().context("no calculator")?;
    let stdio_only = workspace.target_dir.join("bench-stdio");
    build_into(workspace, &server, &stdio_only)?;
    workspace.build(std::slice::from_ref(&server), Profile::Release)?;
    let manifest = server.folder.join("Cargo.toml");
    report.state(
        &server.name,
        "crates in the tree",
        crates(workspace, &manifest, &["--no-default-features"])?,
        Some(MAX_CRATES),
    );
    let with_http = crates(workspace, &manifest, &[])?;
    report.state(&server.name, "crates in the tree with HTTP", with_http, None);
    let binary = workspace.binary(&server, Profile::Release);
    let file = binary.file_name().context("a binary has a name")?;
    let small = megabytes(&stdio_only.join("release").join(file))?;
    report.state(&server.name, "stripped binary MB", small, Some(MAX_BINARY_MB));
    report.state(&server.name, "stripped binary with HTTP MB", megabytes(&binary)?, None);
    let sdk = workspace.root.join("tests/bench/rmcp/Cargo.toml");
    report.state("rmcp", "crates in the tree", crates(workspace, &sdk, &[])?, None);
    if let Ok(size) = megabytes(&workspace.target_dir.join("bench-peers/release/bench-rmcp")) {
        report.state("rmcp", "stripped binary MB", size, None);
    }
    Ok(server)
}

fn builds(workspace: &Workspace, server: &Server, report: &mut Report) -> Result<()> {
    let target = Scratch::new("clean-build")?;
    let clean = build_into(workspace, server, &target.0)?;
    report.state(&server.name, "clean build CPU s", clean.cpu, Some(MAX_CLEAN_BUILD_CPU_S));
    report.state(&server.name, "clean build wall s", clean.wall, None);

    let mut rebuild = Cost { wall: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..REBUILDS {
        let tools = std::fs::File::open(server.folder.join("src/tools.rs"))?;
        tools.set_modified(SystemTime::now())?;
        let cost = build_into(workspace, server, &target.0)?;
        rebuild = Cost { wall: rebuild.wall.min(cost.wall), cpu: rebuild.cpu.min(cost.cpu) };
    }
    report.state(&server.name, "rebuild of tools.rs s", rebuild.wall, Some(MAX_REBUILD_S));
    report.state(&server.name, "rebuild of tools.rs CPU s", rebuild.cpu, None);
    Ok(())
}

/// Seconds.
struct Cost {
    wall: f64,
    cpu: f64,
}

fn build_into(workspace: &Workspace, server: &Server, target: &Path) -> Result<Cost> {
    let used = || procfs::children_cpu().context("CPU time needs /proc");
    let (started, before) = (Instant::now(), used()?);
    let mut cargo = workspace.cargo(&["build", "--release", "--package", &server.name]);
    cargo.arg("--no-default-features");
    run_command(cargo.arg("--target-dir").arg(target))?;
    let cpu = used()?.saturating_sub(before);
    Ok(Cost { wall: started.elapsed().as_secs_f64(), cpu: cpu.as_secs_f64() })
}

/// Every package that is linked into or expands code of the program, itself included.
fn crates(workspace: &Workspace, manifest: &Path, flags: &[&str]) -> Result<f64> {
    let mut cargo = workspace.cargo(&["tree", "-e", "normal", "--prefix", "none"]);
    let output = cargo.args(flags).arg("--manifest-path").arg(manifest).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout)?;
    // A package met again is marked `(*)`, and one line more must not count it twice.
    let names: BTreeSet<_> = listed.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    Ok(names.iter().filter(|name| !name.is_empty()).count() as f64)
}

fn megabytes(path: &Path) -> Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / 1e6)
}

/// A folder outside the workspace that is gone afterwards, whatever happens in between.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let name = format!("xtask-bench-{purpose}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
