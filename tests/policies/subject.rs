//! The servers under test, each with the calls that show its policies: one that is done at once,
//! one that ends soon, one that goes on until it is stopped.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use workspace_tests::profile::Profile;
use workspace_tests::run::Target;
use workspace_tests::transport::{Endpoint, Transport};

use super::running::Running;
use crate::built::{self, ASKER};

/// Far more than a server reads in the seconds a proof takes.
const LONG_FILE_BYTES: usize = 400_000_000;
const SHORT_FILE_BYTES: usize = 4_000_000;

pub(crate) struct Subject {
    pub(crate) name: String,
    command: Vec<String>,
    /// The parameters of `tools/call`, as are the next.
    pub(crate) quick: Value,
    /// Each does not fit the tool's schema.
    pub(crate) refused: Vec<Value>,
    /// Done within seconds, but not at once.
    pub(crate) brief: Option<Value>,
    pub(crate) endless: Option<Value>,
    /// Asks the client, and is done when it answers.
    pub(crate) asking: Option<Value>,
    /// For files of this server's tests, one after the other.
    folder: PathBuf,
    files: AtomicU64,
}

/// All servers of the workspace, and one that asks.
pub(crate) fn all() -> Vec<Subject> {
    let mut subjects: Vec<_> = built::servers().iter().map(|folder| server(folder)).collect();
    subjects.push(asker());
    subjects
}

impl Subject {
    pub(crate) fn command(&self, flags: &[&str]) -> Vec<String> {
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        self.command.iter().cloned().chain(flags).collect()
    }

    /// The server with these flags, in a session.
    pub(crate) fn start(&self, flags: &[&str]) -> Running {
        let mut running = Running::spawn(&self.command(flags));
        running.initialize();
        running
    }

    /// A path nothing is at yet.
    pub(crate) fn fresh_path(&self) -> String {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.join(number.to_string()).display().to_string()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // The files are large; one that cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn server(folder: &Path) -> Subject {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let target =
        Target::in_workspace(&name, &built::binary(&format!("mcp-{name}")), Transport::Stdio)
            .unwrap();
    let Endpoint::Stdio(command) = target.endpoint else { panic!("a command") };
    let profile = target.profile.unwrap();
    let folder = fresh_folder(&name);
    let mut subject = Subject {
        name: target.name,
        command,
        quick: profile.quick_call.as_ref().expect("every server has a quick call").params(),
        refused: refused(&profile),
        brief: profile.slow_call.as_ref().map(|call| call.params()),
        endless: profile.endless_call.as_ref().map(|call| call.params()),
        asking: None,
        folder,
        files: AtomicU64::new(0),
    };
    if name == "csv" {
        read_large_files(&mut subject);
    }
    subject
}

/// A CSV server is busy as long as its file is long.
fn read_large_files(subject: &mut Subject) {
    let tables = subject.folder.join("tables");
    fs::create_dir(&tables).unwrap();
    let block = "12,3.25,a word or two\n".repeat(10_000);
    let call = |name: &str, bytes: usize| {
        let path = tables.join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(b"a,b,c\n").unwrap();
        for _ in 0..bytes / block.len() {
            file.write_all(block.as_bytes()).unwrap();
        }
        let arguments = json!({"filepath": name, "operations": ["sum"]});
        Some(json!({"name": "analyze_csv", "arguments": arguments}))
    };
    subject.brief = call("short.csv", SHORT_FILE_BYTES);
    subject.endless = call("long.csv", LONG_FILE_BYTES);
    subject.command.push(tables.display().to_string());
}

fn asker() -> Subject {
    let form = json!({"name": "ask_form", "arguments": {"message": "Order!"}});
    Subject {
        name: ASKER.to_owned(),
        command: vec![built::binary(ASKER).display().to_string()],
        quick: json!({"name": "say", "arguments": {"text": "x"}}),
        refused: vec![json!({"name": "say", "arguments": {"text": 1}})],
        brief: None,
        endless: Some(form.clone()),
        asking: Some(form),
        folder: fresh_folder(ASKER),
        files: AtomicU64::new(0),
    }
}

fn refused(profile: &Profile) -> Vec<Value> {
    let params = |call: &workspace_tests::profile::RefusedCall| json!({"name": call.name, "arguments": call.arguments});
    profile.refused_calls.iter().map(params).collect()
}

fn fresh_folder(name: &str) -> PathBuf {
    let folder = built::target_folder().join("policies").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}
