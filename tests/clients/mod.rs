//! The official client SDKs against our servers, over standard streams and HTTP: connect in every way
//! each SDK can, list, call, see progress, cancel, answer what the server asks. A server that only satisfies our own tests would not
//! be worth much to anyone.
//!
//! The SDKs are installed once under the target folder from the pinned lists beside this file,
//! never into the source tree. Where Node or Python is missing the test says so and passes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use workspace_tests::install::{self, MIN_PYTHON_MINOR, install_once, is_present, lock, run};
use workspace_tests::web::server::HttpServer;

use crate::built::{self, ASKER};

mod inspector;

#[test]
fn typescript_v1_drives_the_calculator() -> Result<()> {
    typescript("v1.mjs", "mcp-calculator", None)
}

#[test]
fn typescript_v1_drives_csv() -> Result<()> {
    typescript("v1.mjs", "mcp-csv", Some("typescript-v1"))
}

#[test]
fn typescript_v2_drives_the_calculator() -> Result<()> {
    typescript("v2.mjs", "mcp-calculator", None)
}

#[test]
fn typescript_v2_drives_csv() -> Result<()> {
    typescript("v2.mjs", "mcp-csv", Some("typescript-v2"))
}

#[test]
fn python_drives_the_calculator() -> Result<()> {
    python("mcp-calculator", None)
}

#[test]
fn python_drives_csv() -> Result<()> {
    python("mcp-csv", Some("python"))
}

#[test]
fn typescript_v1_answers_questions() -> Result<()> {
    typescript("v1.mjs", ASKER, None)
}

#[test]
fn typescript_v2_answers_questions() -> Result<()> {
    typescript("v2.mjs", ASKER, None)
}

#[test]
fn python_answers_questions() -> Result<()> {
    python(ASKER, None)
}

#[test]
fn typescript_v1_over_http() -> Result<()> {
    over_http(|url| typescript_at("v1.mjs", url))
}

#[test]
fn typescript_v2_over_http() -> Result<()> {
    over_http(|url| typescript_at("v2.mjs", url))
}

#[test]
fn python_over_http() -> Result<()> {
    over_http(python_at)
}

/// The calculator, the server that asks, and the one that has everything: one process each for all connections of a client.
fn over_http(drive: impl Fn(&[&str]) -> Result<()>) -> Result<()> {
    for server in ["mcp-calculator", "mcp-everything", ASKER] {
        let program = built::binary(server).display().to_string();
        let command = [&program, "--http", "127.0.0.1:0"].map(str::to_owned);
        let server = HttpServer::spawn(&command)?;
        drive(&[server.url()]).with_context(|| program.clone())?;
    }
    Ok(())
}

fn typescript(script: &str, server: &str, data: Option<&str>) -> Result<()> {
    with_command(server, data, |command| typescript_at(script, command))
}

fn python(server: &str, data: Option<&str>) -> Result<()> {
    with_command(server, data, python_at)
}

pub(crate) fn typescript_at(script: &str, server: &[&str]) -> Result<()> {
    let Some(folder) = node_packages()? else {
        return Ok(());
    };
    let mut node = Command::new("node");
    drive(node.arg(folder.join(script)).args(server))
}

pub(crate) fn python_at(server: &[&str]) -> Result<()> {
    let Some(interpreter) = python_packages()? else {
        return Ok(());
    };
    let mut python = Command::new(interpreter);
    // What it compiles stays out of the source tree.
    drive(python.arg("-B").arg(sources().join("py/client.py")).args(server))
}

/// The command that starts a server, with the folder of its data if it wants one.
fn with_command(
    server: &str,
    data: Option<&str>,
    drive: impl FnOnce(&[&str]) -> Result<()>,
) -> Result<()> {
    let program = built::binary(server).display().to_string();
    match data {
        None => drive(&[&program]),
        Some(name) => drive(&[&program, &data_folder(name)?.display().to_string()]),
    }
}

/// Runs a client script. The scripts end by themselves: each of their steps has a deadline.
fn drive(client: &mut Command) -> Result<()> {
    let output = client.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(said.contains("ok "), "the client did nothing");
    Ok(())
}

/// The folder holding the scripts and, installed, what they import.
fn node_packages() -> Result<Option<PathBuf>> {
    install_from_npm("ts")
}

/// The folder of this name beside this file, copied and with what its list names installed.
fn install_from_npm(name: &str) -> Result<Option<PathBuf>> {
    install::node_packages(&sources().join(name), &installation(name)?)
}

/// The interpreter of a virtual environment with the SDK in it.
fn python_packages() -> Result<Option<PathBuf>> {
    if !is_present("python3", "Python 3.", MIN_PYTHON_MINOR)
        || run(Command::new("python3").args(["-c", "import venv, ensurepip"])).is_err()
    {
        eprintln!(
            "skipped: this test needs Python 3.{MIN_PYTHON_MINOR} or newer with its venv module"
        );
        return Ok(None);
    }
    let folder = installation("py")?;
    let _only_one = lock(&folder)?;
    let interpreter = folder.join("venv/bin/python");
    let requirements = sources().join("py/requirements.txt");
    install_once(&folder, &fs::read_to_string(&requirements)?, || {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
        run(Command::new(&interpreter).args(pip).arg(&requirements))
    })?;
    Ok(Some(interpreter))
}

/// A folder with one small file to analyse, and the same file beside it, out of the server's reach.
fn data_folder(client: &str) -> Result<PathBuf> {
    let folder = installation("data")?.join(client).join("served");
    fs::create_dir_all(&folder)?;
    for path in [folder.join("numbers.csv"), folder.join("../numbers.csv")] {
        fs::write(path, "item,amount\npen,1.5\nbook,2.25\n")?;
    }
    Ok(folder)
}

fn installation(name: &str) -> Result<PathBuf> {
    let folder = built::target_folder().join("real-clients").join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}
