//! Rules about `Cargo.toml` files. The manifests in `crates/` are literal, so that a copied folder
//! builds; what the workspace would otherwise keep equal by inheritance is kept equal here.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::Breaches;
use crate::workspace::{Workspace, text};

pub(crate) fn check(workspace: &Workspace, breaches: &mut Breaches) -> Result<()> {
    let root = std::fs::read_to_string(workspace.root.join("Cargo.toml"))?;
    let root = Manifest::parse(&root);
    for server in &workspace.servers {
        let path = server.folder.join("Cargo.toml");
        check_server(&path, &std::fs::read_to_string(&path)?, &root, breaches);
    }
    dependency_versions(workspace, breaches)
}

fn check_server(path: &Path, source: &str, root: &Manifest<'_>, breaches: &mut Breaches) {
    for (index, line) in source.lines().enumerate() {
        let setting = line.split('#').next().unwrap_or_default().replace(' ', "");
        if setting.contains("workspace=true") {
            breaches.add(
                path,
                Some(index + 1),
                "inherits from the workspace; a copy would not build",
            );
        }
    }
    let manifest = Manifest::parse(source);
    for key in ["edition", "rust-version", "license"] {
        let wanted = root.setting("workspace.package", key);
        if manifest.setting("package", key) != wanted {
            breaches.add(path, None, format!("`{key}` is not the workspace's: {wanted:?}"));
        }
    }
    for section in ["lints.rust", "lints.clippy"] {
        if manifest.section(section) != root.section(&format!("workspace.{section}")) {
            breaches.add(path, None, format!("[{section}] is not the workspace's"));
        }
    }
    if manifest.setting("package", "description").is_none() {
        breaches.add(path, None, "has no `description`; the README's table of servers shows it");
    }
}

/// One version of a dependency in the whole workspace.
fn dependency_versions(workspace: &Workspace, breaches: &mut Breaches) -> Result<()> {
    let mut first_seen: BTreeMap<String, (String, String)> = BTreeMap::new();
    for package in &workspace.packages {
        let owner = text(package, "name")?;
        let manifest = Path::new(text(package, "manifest_path")?);
        for dependency in
            package.get("dependencies").and_then(Value::as_array).into_iter().flatten()
        {
            let (name, version) = (text(dependency, "name")?, text(dependency, "req")?);
            let known = first_seen
                .entry(name.to_owned())
                .or_insert_with(|| (version.to_owned(), owner.to_owned()));
            if known.0 != version {
                let rule = format!("{name} {version}, but {} has {}", known.1, known.0);
                breaches.add(manifest, None, rule);
            }
        }
    }
    Ok(())
}

/// The sections of a manifest as lines: enough to compare two, with no parser to depend on.
struct Manifest<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Manifest<'a> {
    fn parse(source: &'a str) -> Self {
        let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut current = "";
        for line in source.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                current = name;
            } else if !line.is_empty() && !line.starts_with('#') {
                sections.entry(current).or_default().push(line);
            }
        }
        Self(sections)
    }

    fn section(&self, name: &str) -> &[&'a str] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    fn setting(&self, section: &str, key: &str) -> Option<&'a str> {
        let pairs = self.section(section).iter().filter_map(|line| line.split_once('='));
        let mut values =
            pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
        values.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.95\"\n\
        license = \"MIT\"\n[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
    const GOOD: &str = "[package]\nedition = \"2024\"\nrust-version = \"1.95\"\nlicense = \"MIT\"\n\
        description = \"x\"\n[lints.rust]\nunsafe_code = \"forbid\"\n";

    #[test]
    fn a_manifest_that_drifts_is_reported() {
        for (from, to, expected) in [
            ("", "", 0),
            ("edition = \"2024\"", "edition = \"2021\"", 1),
            ("\"forbid\"", "\"deny\"", 1),
            ("license = \"MIT\"", "license.workspace = true", 2),
            ("description = \"x\"\n", "", 1),
            ("[lints.rust]", "[dependencies]\nserde = { workspace = true }\n[lints.rust]", 1),
        ] {
            let source = if from.is_empty() { GOOD.to_owned() } else { GOOD.replace(from, to) };
            let mut breaches = Breaches { root: "".into(), found: Vec::new() };
            check_server(Path::new("Cargo.toml"), &source, &Manifest::parse(ROOT), &mut breaches);
            assert_eq!(breaches.found.len(), expected, "{source}\n{:?}", breaches.found);
        }
    }
}
