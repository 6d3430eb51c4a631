//! Calls on Windows: how they end, that nothing is left, and that what does not hold is said.

use std::time::{Duration, Instant};

use mcp::Revision;
use mcp::client::{Answering, Client, ToolAnswer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config::Config;
use crate::server;

/// Commands that start commands, the last of which runs for long.
const TREE: [&str; 8] = ["/c", "cmd", "/c", "ping", "-n", "100", "127.0.0.1", ">NUL"];

struct Rig {
    _outside: TempDir,
    client: Client,
}

fn config(flags: &[&str]) -> (TempDir, Config) {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("inside");
    std::fs::create_dir(&root).unwrap();
    let policy = outside.path().join("policy.toml");
    std::fs::write(&policy, "program.cmd.allow = true").unwrap();
    let [root, policy] = [&root, &policy].map(|path| path.to_str().unwrap());
    let all = ["mcp-command", "--root", root, "--policy", policy];
    let config = clap::Parser::try_parse_from(all.iter().chain(flags)).unwrap();
    (outside, config)
}

async fn rig(flags: &[&str]) -> Rig {
    let (outside, config) = config(flags);
    let server = server(config).unwrap();
    let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing());
    Rig { client: client.await.unwrap(), _outside: outside }
}

impl Rig {
    async fn execute(&self, arguments: Value) -> ToolAnswer {
        self.client.call_tool("execute_command", arguments).await.unwrap()
    }
}

#[tokio::test]
async fn says_how_it_went() {
    let rig = rig(&[]).await;
    for code in [0, 7, 255] {
        let script = format!("exit {code}");
        let answer = rig.execute(json!({"command": "CMD.exe", "args": ["/c", script]})).await;
        assert_eq!(answer.structured["exit_code"], code, "{}", answer.text());
        assert_eq!(answer.structured["sandbox"]["tree_kill"], "enforced");
        assert_eq!(answer.structured["sandbox"]["processes"], "watched");
        let not = answer.structured["sandbox"]["fs_write"].as_str().unwrap();
        assert!(not.starts_with("not_enforced"), "{not}");
    }
    let answer = rig.execute(json!({"command": "cmd", "args": ["/c", "echo", "a", "b"]})).await;
    assert_eq!(answer.structured["stdout"]["head"].as_str().unwrap().trim_end(), "a b");
    let piped = json!([{"command": "cmd", "args": ["/c", "exit 3"]}]);
    let answer = rig.execute(json!({"command": "hostname", "args": [], "pipeline": piped})).await;
    assert_eq!(answer.structured["exit_code"], 3, "{}", answer.text());
}

#[tokio::test]
async fn a_timeout_ends_the_tree() {
    let rig = rig(&[]).await;
    let started = Instant::now();
    let answer = rig.execute(json!({"command": "cmd", "args": TREE, "timeout_ms": 1500})).await;
    assert_eq!(answer.structured["status"], "timed_out", "{}", answer.text());
    assert!(answer.structured["killed_processes"].as_u64().unwrap() >= 2, "{}", answer.text());
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn too_many_processes_are_killed() {
    let rig = rig(&["--max-processes", "1"]).await;
    let answer = rig.execute(json!({"command": "cmd", "args": TREE})).await;
    assert_eq!(answer.structured["status"], "too_many_processes", "{}", answer.text());
}

#[tokio::test]
async fn a_job_can_only_be_killed() {
    let rig = rig(&[]).await;
    let answer = rig.execute(json!({"command": "cmd", "args": TREE, "background": true})).await;
    let id = answer.structured["job_id"].clone();
    let signal = async |name: &str| {
        rig.client.call_tool("signal", json!({"job_id": id, "signal": name})).await.unwrap()
    };
    assert!(signal("TERM").await.text().contains("no such signal"));
    assert!(!signal("KILL").await.is_error);
    let answer = rig.client.call_tool("wait", json!({"job_id": id})).await.unwrap();
    assert_eq!(answer.structured["status"], "signaled", "{}", answer.text());
}

#[tokio::test]
async fn what_is_not_to_be_had_is_refused() {
    let rig = rig(&[]).await;
    let cmd = |more: Value| {
        let mut all = json!({"command": "cmd", "args": ["/c", "ver"]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (arguments, why) in [
        (cmd(json!({"tty": true})), "no terminals"),
        (cmd(json!({"cwd": ".."})), "not one commands may work in"),
        (cmd(json!({"cwd": r"\\127.0.0.1\share"})), "not one commands may work in"),
        (cmd(json!({"cwd": r"C:\"})), "not one commands may work in"),
        (cmd(json!({"cwd": "NUL"})), "not one commands may work in"),
        (cmd(json!({"env": {"PATHEXT": ".BAT"}})), "may not be set"),
        (json!({"command": "x.bat"}), "batch file"),
        (json!({"command": "reg", "args": ["query", "HKLM"]}), "not granted"),
        (json!({"command": r"\\127.0.0.1\share\cmd.exe"}), "no program"),
        (json!({"command": "findstr", "args": ["x", r"C:\windows\win.ini"]}), "leads outside"),
    ] {
        let answer = rig.execute(arguments.clone()).await;
        assert!(answer.is_error && answer.text().contains(why), "{arguments}: {}", answer.text());
    }
}

#[test]
fn it_does_not_start_on_what_would_not_hold() {
    let (outside, mut config) = config(&[]);
    config.policy = Some(outside.path().join("inside/policy.toml"));
    std::fs::write(outside.path().join("inside/policy.toml"), "").unwrap();
    let refusal = server(config).err().unwrap().to_string();
    assert!(refusal.contains("is in a root"), "{refusal}");
    let (_outside, config) = self::config(&["--sandbox", "required"]);
    let refusal = server(config).err().unwrap().to_string();
    assert!(refusal.contains("could not prove: fs_write, fs_read, execute, net"), "{refusal}");
    assert!(!refusal.contains("tree_kill"), "{refusal}");
}
