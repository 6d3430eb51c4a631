//! `cargo xtask new NAME`: a server of your own, begun as a copy of one that works. There is no
//! template to go stale: what is copied is a server that is built, tested and checked every day.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::{Server, Workspace};

/// How a server in `crates/` names the protocol crate.
const SHARED_INSIDE: &str = r#"path = "../../shared""#;
/// What a folder outside needs of the workspace: the tested versions, and how sources are written.
const COMPANIONS: &[&str] = &["Cargo.lock", "rustfmt.toml", "clippy.toml"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the server is called: `weather` becomes the package `mcp-weather`
    #[arg(value_parser = parse_name)]
    name: String,
    /// The server to begin from
    #[arg(long, value_name = "SERVER", default_value = "calculator")]
    from: String,
    /// Folder outside this workspace to put the copy into, as DIR/NAME; `crates` if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the copy finds the protocol crate, such as `git = "https://…", tag = "…"`; this
    /// workspace's folder if not given
    #[arg(long, value_name = "SOURCE", requires = "out")]
    shared: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let from = workspace
        .select(std::slice::from_ref(&args.from))?
        .pop()
        .context("no server to begin from")?;
    let place = if args.out.is_none() { format!("crates/{}/", args.name) } else { String::new() };
    let names = Renaming::new(&from, &args.name, place)?;
    match &args.out {
        None => inside(workspace, &from, &names),
        Some(parent) => {
            let here = format!("path = \"{}\"", workspace.root.join("shared").display());
            let shared = args.shared.as_deref().unwrap_or(&here);
            outside(workspace, &from, &names, parent, shared)
        }
    }
}

fn inside(workspace: &Workspace, from: &Server, names: &Renaming) -> Result<()> {
    let folder = workspace.root.join("crates").join(&names.new);
    copy(&from.folder, &folder, names)?;
    let profiles = workspace.root.join("tests/profiles");
    let known = profiles.join(format!("{}.json", names.old));
    let profile = profiles.join(format!("{}.json", names.new));
    if known.is_file() {
        fs::write(&profile, names.apply(&fs::read_to_string(&known)?))?;
    }
    println!("{}", folder.display());
    println!("cargo test -p mcp-{0} && cargo xtask conformance {0}", names.new);
    println!("cargo xtask list    # when its tools are yours: the README tables and snapshots");
    Ok(())
}

fn outside(
    workspace: &Workspace,
    from: &Server,
    names: &Renaming,
    parent: &Path,
    shared: &str,
) -> Result<()> {
    let parent = std::path::absolute(parent)?;
    fs::create_dir_all(&parent)?;
    if parent.canonicalize()?.starts_with(workspace.root.canonicalize()?) {
        bail!("{} is inside this workspace; leave --out away", parent.display());
    }
    let folder = parent.join(&names.new);
    copy(&from.folder, &folder, names)?;
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, standalone(&fs::read_to_string(&manifest)?, shared)?)?;
    for file in COMPANIONS {
        fs::copy(workspace.root.join(file), folder.join(file))?;
    }
    println!("{}", folder.display());
    println!("cd {} && cargo test", folder.display());
    println!(
        "cargo xtask conformance --stdio {}",
        folder.join("target/debug").join(names.package()).display()
    );
    Ok(())
}

/// The manifest with the marked lines pointed at the protocol crate, and a workspace of its own,
/// so that cargo does not look for one further up.
fn standalone(manifest: &str, shared: &str) -> Result<String> {
    ensure!(manifest.contains(SHARED_INSIDE), "the manifest has no line with {SHARED_INSIDE}");
    Ok(manifest.replace(SHARED_INSIDE, shared) + "\n[workspace]\n")
}

fn copy(from: &Path, to: &Path, names: &Renaming) -> Result<()> {
    ensure!(!to.exists(), "{} is there already", to.display());
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                copy(&entry.path(), &target, names)?;
            }
            continue;
        }
        let content = fs::read(entry.path())?;
        let is_main = entry.path().ends_with("src/main.rs");
        match String::from_utf8(content) {
            Ok(text) if is_main => fs::write(target, names.title(&names.apply(&text)))?,
            Ok(text) => fs::write(target, names.apply(&text))?,
            Err(binary) => fs::write(target, binary.into_bytes())?,
        }
    }
    Ok(())
}

/// What carries a server's name: package and binary, the scheme of its URIs, paths of its files, its
/// title. Other words are left alone: `csv` is also the name of a format.
struct Renaming {
    old: String,
    new: String,
    /// What its files' paths begin with, seen from where people run its commands.
    place: String,
}

impl Renaming {
    fn new(from: &Server, new: &str, place: String) -> Result<Self> {
        let old = from.folder.file_name().context("a server has a folder")?;
        let old = old.to_string_lossy().into_owned();
        let new = new.to_owned();
        Ok(Self { old, new, place })
    }

    fn package(&self) -> String {
        format!("mcp-{}", self.new)
    }

    fn apply(&self, text: &str) -> String {
        let (old, new) = (&self.old, &self.new);
        let text = replace_word(text, &format!("mcp-{old}"), &self.package());
        let text = replace_word(&text, &format!("{old}://"), &format!("{new}://"));
        replace_word(&text, &format!("crates/{old}/"), &self.place)
    }

    /// The server's own title is the first one in `main.rs`.
    fn title(&self, main: &str) -> String {
        let old = main.lines().find(|line| line.trim_start().starts_with(".title(\""));
        let Some(old) = old else {
            return main.to_owned();
        };
        let indent = old.len() - old.trim_start().len();
        let title = format!("{:indent$}.title(\"{}\")", "", in_words(&self.new));
        main.replacen(old, &title, 1)
    }
}

/// `rain-radar` → `Rain radar`.
fn in_words(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect::<String>().replace('-', " ")
}

/// Replaces what is not part of a longer name.
fn replace_word(text: &str, old: &str, new: &str) -> String {
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(old) {
        // The end of `old` bounds itself where it is no letter.
        let open_end = old.ends_with(in_name) && after.starts_with(in_name);
        replaced.push_str(before);
        replaced.push_str(if before.ends_with(in_name) || open_end { old } else { new });
        rest = after;
    }
    replaced + rest
}

fn parse_name(name: &str) -> Result<String, String> {
    let name = name.strip_prefix("mcp-").unwrap_or(name);
    let fits =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let good = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.chars().all(fits)
        && !name.ends_with('-');
    if good {
        Ok(name.to_owned())
    } else {
        Err("lower-case letters, digits and hyphens, a letter first".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_longer_names_are_not() {
        let [old, new, place] = ["csv", "rain-radar", "crates/rain-radar/"].map(str::to_owned);
        let names = Renaming { old, new, place };
        for (text, expected) in [
            ("name = \"mcp-csv\"", "name = \"mcp-rain-radar\""),
            ("csv-core = \"0.1\"", "csv-core = \"0.1\""),
            ("mcp-csv-tools my-mcp-csv", "mcp-csv-tools my-mcp-csv"),
            ("csv://table/1 xcsv://a", "rain-radar://table/1 xcsv://a"),
            ("{root}/crates/csv/fixtures", "{root}/crates/rain-radar/fixtures"),
            ("a csv file", "a csv file"),
        ] {
            assert_eq!(names.apply(text), expected);
        }
        let main = "server()\n    .title(\"CSV analysis\")\n    .title(\"x\")\n";
        assert_eq!(names.title(main), "server()\n    .title(\"Rain radar\")\n    .title(\"x\")\n");
    }

    #[test]
    fn names_that_cannot_be_packages_are_refused() {
        for (name, good) in [
            ("weather", true),
            ("mcp-weather", true),
            ("rain-radar2", true),
            ("Weather", false),
            ("2d", false),
            ("", false),
            ("mcp-", false),
            ("a_b", false),
            ("../a", false),
            ("a-", false),
        ] {
            assert_eq!(parse_name(name).is_ok(), good, "{name}");
        }
    }

    #[test]
    fn an_outside_manifest_points_at_the_protocol_crate() {
        let manifest =
            "[dependencies]\nmcp-shared = { path = \"../../shared\", version = \"0.1.0\" }\n";
        let expected =
            "[dependencies]\nmcp-shared = { git = \"g\", version = \"0.1.0\" }\n\n[workspace]\n";
        assert_eq!(standalone(manifest, "git = \"g\"").unwrap(), expected);
        assert!(standalone("[dependencies]\n", "git = \"g\"").is_err());
    }
}
