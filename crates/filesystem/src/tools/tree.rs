//! The shape of a directory.

use std::fmt::Write;

use mcp::{Context, Reply, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::backend;
use crate::backend::{Backend, Kind, LookAtTree, Tree};

/// Show what is below a directory, indented. Skips `.git` and what `.gitignore` or `.ignore` name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DirectoryTree {
    path: String,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    include_ignored: bool,
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 100))]
    max_depth: usize,
    #[serde(default = "default_entries")]
    #[schemars(range(min = 1, max = 5000))]
    max_entries: usize,
}

fn default_depth() -> usize {
    20
}

fn default_entries() -> usize {
    500
}

pub(crate) async fn directory_tree(
    cx: Context<Backend>,
    input: DirectoryTree,
) -> ToolResult<Reply> {
    let request = LookAtTree {
        path: input.path,
        max_depth: input.max_depth,
        max_entries: input.max_entries,
        exclude: input.exclude_patterns,
        include_ignored: input.include_ignored,
    };
    let (backend, observer) = (backend(&cx).await?, cx.clone());
    let tree = cx.blocking(move || backend.tree(&request, &observer)).await?;
    let mut text = String::new();
    write(&tree, 0, &mut text);
    if text.is_empty() {
        text.push_str("[empty]");
    }
    Ok(Reply::text(text))
}

fn write(tree: &Tree, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for branch in &tree.entries {
        let mark = match (branch.kind, &branch.below) {
            (Kind::Directory, Some(_)) => "/",
            (Kind::Directory, None) => "/ [not looked into]",
            (Kind::Link, _) => " [link]",
            (Kind::Other, _) => " [neither file nor directory]",
            (Kind::File, _) => "",
        };
        let _infallible = writeln!(text, "{indent}{}{mark}", branch.name);
        if let Some(below) = &branch.below {
            write(below, depth + 1, text);
        }
    }
    if tree.left_out > 0 {
        let _infallible = writeln!(text, "{indent}[{} more]", tree.left_out);
    }
    if tree.is_unreadable {
        let _infallible = writeln!(text, "{indent}[cannot be read]");
    }
}
