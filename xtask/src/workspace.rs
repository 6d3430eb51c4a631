//! Where things are: the root, the target folder, the servers. Asked of `cargo metadata` once, so
//! that a new folder under `crates/` is found without a list to maintain, and a foreign
//! `CARGO_TARGET_DIR` is respected.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use workspace_tests::{github, install, postgres};

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target_dir: PathBuf,
    /// One for each folder of `crates/`, by name.
    pub(crate) servers: Vec<Server>,
    /// The `packages` of `cargo metadata`, for rules about manifests.
    pub(crate) packages: Vec<Value>,
}

#[derive(Clone)]
pub(crate) struct Server {
    /// Package and binary name, such as `mcp-csv`.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .context("cannot start cargo")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let root = PathBuf::from(text(&metadata, "workspace_root")?);
        let packages = metadata.get("packages").and_then(Value::as_array).cloned();
        let packages = packages.context("cargo metadata names no packages")?;
        let mut servers = Vec::new();
        for package in &packages {
            servers.extend(Server::from_package(package, &root.join("crates"))?);
        }
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        let target_dir = PathBuf::from(text(&metadata, "target_directory")?);
        Ok(Self { root, target_dir, servers, packages })
    }

    /// The servers asked for by package name or folder name; all of them when none is asked for.
    pub(crate) fn select(&self, names: &[String]) -> Result<Vec<Server>> {
        if names.is_empty() {
            return Ok(self.servers.clone());
        }
        names.iter().map(|name| self.server(name)).collect()
    }

    pub(crate) fn server(&self, name: &str) -> Result<Server> {
        let known = |server: &&Server| server.name == name || server.folder.ends_with(name);
        self.servers.iter().find(known).cloned().with_context(|| {
            let names: Vec<_> = self.servers.iter().map(|server| server.name.as_str()).collect();
            format!("no server `{name}`; there are: {}", names.join(", "))
        })
    }

    pub(crate) fn build(&self, servers: &[Server], profile: Profile) -> Result<()> {
        let mut cargo = self.cargo(&["build"]);
        if let Profile::Release = profile {
            cargo.arg("--release");
        }
        for server in servers {
            cargo.args(["--package", &server.name]);
        }
        run(&mut cargo)
    }

    pub(crate) fn binary(&self, server: &Server, profile: Profile) -> PathBuf {
        let folder = match profile {
            Profile::Debug => "debug",
            Profile::Release => "release",
        };
        let file = format!("{}{}", server.name, std::env::consts::EXE_SUFFIX);
        self.target_dir.join(folder).join(file)
    }

    /// The command that starts a server on its bundled data: the binary, then the arguments that
    /// the server's `demo.jsonl` names in its line `// $ mcp-name ARGS`.
    pub(crate) fn demo_command(&self, server: &Server, profile: Profile) -> Result<Vec<String>> {
        let mut command = vec![self.binary(server, profile).display().to_string()];
        let Ok(script) = std::fs::read_to_string(server.folder.join("demo.jsonl")) else {
            return Ok(command);
        };
        let prefix = format!("// $ {}", server.name);
        if let Some(arguments) = script.lines().find_map(|line| line.strip_prefix(&prefix)) {
            for argument in arguments.split_whitespace() {
                command.push(match argument {
                    postgres::PLACEHOLDER => postgres::url()?,
                    github::PLACEHOLDER => {
                        github::url(&self.target_dir)?.unwrap_or_else(|| github::NOBODY.to_owned())
                    }
                    github::TOKEN_PLACEHOLDER => github::token_file(&self.target_dir)?,
                    _ => self.absolute(argument),
                });
            }
        }
        Ok(command)
    }

    /// Cargo, run at the root: the paths it prints and the configuration it reads are then the
    /// same from every folder.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.args(arguments).current_dir(&self.root);
        install::without_package(&mut command);
        command
    }

    /// A path of the workspace made absolute, so that it holds in whatever folder a server is
    /// started; any other argument is left as it is.
    fn absolute(&self, argument: &str) -> String {
        let path = self.root.join(argument);
        if path.exists() { path.display().to_string() } else { argument.to_owned() }
    }
}

impl Server {
    fn from_package(package: &Value, crates: &Path) -> Result<Option<Self>> {
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let folder = manifest.parent().context("a manifest lies in a folder")?.to_owned();
        if folder.parent() != Some(crates) {
            return Ok(None);
        }
        let description = package.get("description").and_then(Value::as_str).unwrap_or_default();
        let name = text(package, "name")?.to_owned();
        Ok(Some(Self { name, description: description.to_owned(), folder }))
    }
}

/// Runs a command to its end; a failure names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("no text `{key}` in {value}"))
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
