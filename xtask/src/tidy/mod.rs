//! `cargo xtask tidy`: the house rules that neither rustfmt nor clippy knows. All breaches are
//! collected and shown before it fails, so one run shows the whole work.

mod manifests;
mod servers;
mod sources;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = files(&workspace.root)?;
    let mut breaches = Breaches { root: workspace.root.clone(), found: Vec::new() };
    for path in &files {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let inside = path.strip_prefix(&workspace.root)?;
            sources::check(inside, &std::fs::read_to_string(path)?, &mut breaches);
        }
        text::check(path, workspace, &mut breaches)?;
    }
    servers::check(workspace, &mut breaches)?;
    manifests::check(workspace, &mut breaches)?;
    breaches.report(files.len())
}

pub(crate) struct Breaches {
    root: PathBuf,
    found: Vec<String>,
}

impl Breaches {
    pub(crate) fn add(&mut self, path: &Path, line: Option<usize>, rule: impl std::fmt::Display) {
        let path = path.strip_prefix(&self.root).unwrap_or(path).display();
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        self.found.push(format!("{path}{line}: {rule}"));
    }

    fn report(mut self, files: usize) -> Result<()> {
        self.found.sort();
        for breach in &self.found {
            println!("{breach}");
        }
        if !self.found.is_empty() {
            bail!("{} breaches of the house rules", self.found.len());
        }
        println!("tidy: {files} files keep the house rules");
        Ok(())
    }
}

/// All files of the repository that a person wrote or a tool locked; not what was built.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() {
                found.push(entry.path());
            } else if !name.starts_with('.') && name != "target" && name != "node_modules" {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
