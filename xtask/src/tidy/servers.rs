//! Rules about the folders in `crates/`: a reader who knows one server knows where to look in all.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::{Breaches, sources};
use crate::workspace::{Server, Workspace};

const REQUIRED: &[&str] = &["main.rs", "config.rs", "tools.rs", "backend.rs", "tests.rs"];
const OPTIONAL: &[&str] = &["resources.rs", "prompts.rs", "tools", "resources", "backend", "tests"];
const MAX_MAIN_LINES: usize = 60;

pub(crate) fn check(workspace: &Workspace, breaches: &mut Breaches) -> Result<()> {
    for server in &workspace.servers {
        file_names(server, breaches)?;
        for path in super::files(&server.folder.join("src"))? {
            let source = std::fs::read_to_string(&path)?;
            protocol_at_the_edge(&server.folder.join("src"), &path, &source, breaches);
        }
        let main = server.folder.join("src/main.rs");
        let lines = std::fs::read_to_string(&main)?.lines().count();
        if lines > MAX_MAIN_LINES {
            breaches.add(&main, None, format!("{lines} lines, at most {MAX_MAIN_LINES}"));
        }
        for name in ["README.md", "demo.jsonl"] {
            if !server.folder.join(name).is_file() {
                breaches.add(&server.folder, None, format!("has no {name}"));
            }
        }
    }
    Ok(())
}

fn file_names(server: &Server, breaches: &mut Breaches) -> Result<()> {
    let folder = server.folder.join("src");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(&folder)? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    for name in REQUIRED.iter().filter(|name| !names.contains(**name)) {
        breaches.add(&folder, None, format!("has no {name}"));
    }
    let known =
        |name: &&String| !REQUIRED.contains(&name.as_str()) && !OPTIONAL.contains(&name.as_str());
    for name in names.iter().filter(known) {
        breaches.add(&folder.join(name), None, "is a name no other server has");
    }
    Ok(())
}

/// Only what the model sees may know the protocol; a backend is usable without it.
fn protocol_at_the_edge(src: &Path, path: &Path, source: &str, breaches: &mut Breaches) {
    let first = path.strip_prefix(src).ok().and_then(|inner| inner.iter().next());
    let first = first.unwrap_or_default().to_string_lossy();
    let room = first.trim_end_matches(".rs");
    if ["main", "tools", "resources", "prompts", "tests"].contains(&room) {
        return;
    }
    for (line, code) in sources::code_lines(source) {
        if names_protocol_crate(code) {
            breaches.add(
                path,
                Some(line),
                "uses `mcp::`; only main, tools, resources and prompts may",
            );
        }
    }
}

fn names_protocol_crate(code: &str) -> bool {
    code.match_indices("mcp::").any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_protocol_crate_counts() {
        for (code, expected) in [
            ("use mcp::Server;", true),
            ("fn f(cx: &::mcp::Context) {}", true),
            ("use rmcp::Server;", false),
            ("use my_mcp::Server;", false),
        ] {
            assert_eq!(names_protocol_crate(code), expected, "{code}");
        }
    }

    #[test]
    fn a_backend_knows_no_protocol() {
        for (file, expected) in
            [("backend.rs", 1), ("backend/scan.rs", 1), ("tools.rs", 0), ("tools/a.rs", 0)]
        {
            let mut breaches = Breaches { root: "".into(), found: Vec::new() };
            let src = Path::new("src");
            protocol_at_the_edge(src, &src.join(file), "use mcp::Context;\n", &mut breaches);
            assert_eq!(breaches.found.len(), expected, "{file}");
        }
    }
}
