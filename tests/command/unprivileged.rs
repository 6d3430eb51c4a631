//! The command server as another user than the superuser, and where no name spaces of users are to
//! be had, as in many containers: what it can it does, and of the rest it says that it is not so.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::rig::{Rig, sh, wait_for};
use crate::policies::running::Running;
use crate::policies::web::refused_start;

const NOBODY: u32 = 65_534;
const KERNELS: [&str; 7] =
    ["fs_write", "fs_read", "execute", "net", "unix_sockets", "signals", "tree_kill"];

/// Ways to start a server that has less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    Itself,
    Nobody,
    NobodyWithoutNameSpaces,
}

impl As {
    /// The command line that starts `command` like this; `None` if that cannot be had here.
    fn start(self, command: &[String]) -> Option<Vec<String>> {
        let prefix: &[&str] = match self {
            Self::Itself => &[],
            Self::Nobody => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
            // The limit is of the new space of users alone, and all that begin in it.
            Self::NobodyWithoutNameSpaces => &[
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "unshare",
                "--user",
                "--map-root-user",
                "sh",
                "-c",
                "cd /proc/sys/user && echo 0 > max_user_namespaces && \
                 echo 0 > max_mnt_namespaces && cd / && exec \"$@\"",
                "sh",
            ],
        };
        let whole: Vec<String> =
            prefix.iter().map(|word| (*word).to_owned()).chain(command.to_vec()).collect();
        let mut trial = whole.clone();
        trial.truncate(prefix.len());
        trial.push("true".to_owned());
        let works = Command::new(&trial[0]).args(&trial[1..]).status();
        works.is_ok_and(|status| status.success()).then_some(whole)
    }
}

/// One everybody can start, over a directory of nobody's.
fn rig() -> (Rig, String) {
    let rig = Rig::new();
    let open = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(rig.outside(), open(0o755)).unwrap();
    let program = rig.outside().join("server");
    fs::copy(&rig.command(&[])[0], &program).unwrap();
    fs::set_permissions(&program, open(0o755)).unwrap();
    // Without the right to give it away there is only `As::Itself`.
    let _not_the_superuser = chown(rig.root(), Some(NOBODY), Some(NOBODY));
    (rig, program.to_str().unwrap().to_owned())
}

fn sandbox(server: &mut Running, call: &Value) -> Value {
    let answer = server.call(call);
    let result = &answer["result"]["structuredContent"];
    assert_eq!(result["exit_code"], 0, "{answer}");
    result["sandbox"].clone()
}

#[test]
fn what_holds_is_said_whoever_runs_it() {
    let (rig, program) = rig();
    let all = [As::Itself, As::Nobody, As::NobodyWithoutNameSpaces];
    for who in all {
        let mut command = rig.command(&[]);
        command[0].clone_from(&program);
        let Some(command) = who.start(&command) else { continue };
        let mut server = Running::spawn(&command);
        server.initialize();
        let data = json!({"name": "execute_command", "arguments": {"command": "true"}});
        let held = sandbox(&mut server, &data);
        let writing = sandbox(&mut server, &sh("rm -f there; echo x > there"));
        // A kernel that lacks one of them lacks it for everybody.
        if held["fs_write"] != "enforced" {
            return;
        }
        for guarantee in KERNELS {
            assert_eq!(held[guarantee], "enforced", "{who:?} {guarantee}");
        }
        let told = writing["protected"].as_str().unwrap();
        let hook = server.call(&sh("mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"));
        let is_made = rig.root().join(".git/hooks/pre-commit").exists();
        assert_eq!(hook["result"]["structuredContent"]["exit_code"] == 0, is_made, "{hook}");
        assert_eq!(told == "enforced", !is_made, "{who:?}: {told}");
        let contents_only = writing["fs_write"].as_str().unwrap().contains("contents, not");
        assert_eq!(contents_only, told != "enforced", "{writing}");
        // Where there is a space of users of its own, its processes can be counted.
        if who == As::Nobody && told == "enforced" {
            assert_eq!(writing["processes"], "enforced", "{writing}");
        }
        if who == As::NobodyWithoutNameSpaces {
            assert_eq!(writing["processes"], "watched", "{writing}");
            assert!(told.starts_with("not_enforced"), "{told}");
        }
        assert_eq!(server.close().code, Some(0));
        fs::remove_dir_all(rig.root().join(".git")).ok();
    }
}

/// The superuser needs no rights for it.
#[test]
fn what_a_program_leaves_without_rights_is_removed() {
    let (rig, program) = rig();
    for who in [As::Itself, As::Nobody] {
        let mut command = rig.command(&[]);
        command[0].clone_from(&program);
        let Some(command) = who.start(&command) else { continue };
        let mut server = Running::spawn(&command);
        server.initialize();
        let leave = "cd $TMPDIR && mkdir -p a/b && echo x > a/b/c && chmod 0 a/b a && pwd";
        let answer = server.call(&sh(leave));
        let dir = answer["result"]["structuredContent"]["stdout"]["head"].as_str().unwrap().trim();
        assert!(dir.starts_with('/'), "{answer}");
        wait_for(&format!("{who:?}: {dir} is removed"), || !Path::new(dir).exists());
    }
}

/// An owner can take away the right to look at what is protected, and give it back.
#[test]
fn what_cannot_be_looked_at_is_protected_all_the_same() {
    let (rig, program) = rig();
    let mut command = rig.command(&[]);
    command[0] = program;
    let Some(command) = As::Nobody.start(&command) else { return };
    let mut server = Running::spawn(&command);
    server.initialize();
    let git = rig.root().join(".git");
    fs::create_dir(&git).unwrap();
    chown(&git, Some(NOBODY), Some(NOBODY)).unwrap();
    let held = sandbox(&mut server, &sh("chmod 0 .git"));
    if held["protected"] != "enforced" {
        return;
    }
    let change = "chmod 700 .git; echo x > .git/config; mkdir .git/hooks; chmod 700 .";
    for rights in ["true", "chmod 500 ."] {
        sandbox(&mut server, &sh(rights));
        let answer = server.call(&sh(change));
        let result = &answer["result"]["structuredContent"];
        assert_eq!(result["sandbox"]["protected"], "enforced", "{answer}");
        let config = fs::read_to_string(git.join("config")).unwrap_or_default();
        assert_eq!(config, "", "{rights}: {answer}");
    }
}

#[test]
fn nothing_is_run_that_is_not_as_confined_as_required() {
    let (rig, program) = rig();
    let who = As::NobodyWithoutNameSpaces;
    let mut command = rig.command(&["--sandbox", "required"]);
    command[0] = program;
    let Some(command) = who.start(&command) else { return };
    let (code, log) = refused_start(&command);
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("could not prove: protected"), "{log}");
    // What only reads needs no protection.
    rig.policy("");
    let mut server = Running::spawn(&command);
    server.initialize();
    let data = json!({"name": "execute_command", "arguments": {"command": "true"}});
    assert_eq!(sandbox(&mut server, &data)["fs_write"], "enforced");
}
