//! `cargo xtask list`: the tables in the READMEs and the snapshots in `tests/snapshots/` are taken
//! from what each built server itself lists, so a description exists once: in the doc comment of
//! the tool. `--check` writes nothing and fails where a file no longer says what the server says.

mod render;
mod surface;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::{Profile, Workspace};
use surface::Surface;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail and show the difference where a file is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if args.check { check(workspace) } else { write(workspace) }
}

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut stale = Vec::new();
    for file in generated(workspace)? {
        let current = std::fs::read_to_string(&file.path).unwrap_or_default();
        if current != file.content {
            let path = shown(&file.path, workspace);
            print!("{path} is out of date:\n{}", render::difference(&current, &file.content));
            stale.push(path);
        }
    }
    if !stale.is_empty() {
        bail!("run `cargo xtask list`; out of date: {}", stale.join(", "));
    }
    Ok(())
}

fn write(workspace: &Workspace) -> Result<()> {
    for file in generated(workspace)? {
        if std::fs::read_to_string(&file.path).is_ok_and(|current| current == file.content) {
            continue;
        }
        if let Some(folder) = file.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&file.path, &file.content)?;
        println!("wrote {}", shown(&file.path, workspace));
    }
    Ok(())
}

struct Generated {
    path: PathBuf,
    content: String,
}

/// Every generated file as it should be.
fn generated(workspace: &Workspace) -> Result<Vec<Generated>> {
    workspace.build(&workspace.servers, Profile::Debug)?;
    let mut files = Vec::new();
    let mut surfaces = Vec::new();
    for server in &workspace.servers {
        let command = workspace.demo_command(server, Profile::Debug)?;
        let surface = Surface::read(&command).with_context(|| server.name.clone())?;
        let readme = server.folder.join("README.md");
        files.push(with_block(&readme, "tools", &render::tools(&surface))?);
        let snapshot = format!("tests/snapshots/{}.tools.json", server.name);
        files.push(Generated { path: workspace.root.join(snapshot), content: surface.snapshot()? });
        surfaces.push((server, surface));
    }
    let readme = workspace.root.join("README.md");
    files.push(with_block(&readme, "servers", &render::servers(&surfaces))?);
    Ok(files)
}

/// The file with the text between its `begin` and `end` marks replaced.
fn with_block(path: &Path, name: &str, block: &str) -> Result<Generated> {
    let file = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
    let begin = format!("<!-- {name}:begin -->");
    let end = format!("<!-- {name}:end -->");
    let marks = || format!("{file} has no block from `{begin}` to `{end}`");
    let (before, rest) = text.split_once(&begin).with_context(marks)?;
    let (_, after) = rest.split_once(&end).with_context(marks)?;
    let content = format!("{before}{begin}\n{block}{end}{after}");
    Ok(Generated { path: path.to_owned(), content })
}

fn shown(path: &Path, workspace: &Workspace) -> String {
    path.strip_prefix(&workspace.root).unwrap_or(path).display().to_string()
}
