//! Ways to more than a program was given: services of the machine that would do it for it, the
//! terminal and the process of the server, files that change the user.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use serde_json::json;

use super::confined::{claims, has_python, python, script};
use super::rig::{EVERYTHING, IS_PORTABLE, Rig, rig, stdout};

/// Connects to all that `addresses` holds, and says what came of it.
async fn connect(rig: &Rig, addresses: &str) -> String {
    let code = format!(
        "import socket\nfor at in {addresses}:\n try:\n  s = socket.socket(socket.AF_UNIX)\n  \
         s.connect(at)\n  print('connected')\n except OSError as e:\n  print(type(e).__name__)"
    );
    let arguments = json!({"command": "python3", "args": ["-c", code]});
    stdout(&rig.execute(arguments).await).to_owned()
}

/// As Docker's, the SSH agent's and D-Bus's are: in a root, and of those without a file.
#[tokio::test]
async fn no_service_of_this_machine_is_reached() {
    let python3 = "python3 = { path = '/usr/bin/python3', network = true";
    for (granted, right) in [("", "PermissionError\n"), (", unix_sockets = true", "connected\n")] {
        let rig = rig(&format!("{EVERYTHING}\nprogram.{python3}{granted} }}"), &[]).await;
        if !claims(&rig, "unix_sockets").await || !has_python(&rig).await {
            return;
        }
        let path = rig.inside("docker.sock");
        let _docker = UnixListener::bind(&path).unwrap();
        assert_eq!(connect(&rig, &format!("[{path:?}]")).await, right, "{granted}");
        let name = format!("mcp-command-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _bus = UnixListener::bind_addr(&address).unwrap();
        // Not even if granted: those are services of other programs' sessions.
        assert_eq!(connect(&rig, &format!("['\\0{name}']")).await, "PermissionError\n");
    }
}

#[tokio::test]
async fn nothing_is_typed_into_a_terminal_and_no_process_is_traced() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "net").await || !has_python(&rig).await {
        return;
    }
    let code = "import fcntl\nfor call in (0x5412, 0x541c):\n try:\n  fcntl.ioctl(0, call, b'x')\n \
         except OSError as e:\n  print(type(e).__name__)";
    let typing = json!({
        "command": "sh", "tty": true,
        "args": ["-c", "exec /usr/bin/python3 -c \"$1\"", "sh", code],
    });
    assert_eq!(stdout(&rig.execute(typing).await), "PermissionError\nPermissionError\n");
    // PTRACE_ATTACH and PTRACE_SEIZE, to the server.
    for request in [16, 0x4206] {
        let code = format!(
            "import ctypes; c = ctypes.CDLL(None, use_errno=True); \
             print(c.ptrace({request}, {}, 0, 0), ctypes.get_errno())",
            std::process::id()
        );
        assert_eq!(python(&rig, &code).await, (0, "-1 1\n".to_owned()));
    }
}

/// A password is asked for at the terminal of whoever started the server, if there is one.
#[tokio::test]
async fn a_program_has_no_terminal_to_ask_at() {
    let rig = rig(EVERYTHING, &[]).await;
    let (code, said) = script(&rig, "read password < /dev/tty").await;
    assert_ne!(code, 0, "{said}");
    let (_, said) = script(&rig, "tty").await;
    assert!(said.contains("not a tty"), "{said}");
}

#[tokio::test]
async fn a_file_that_changes_the_user_does_not() {
    let rig = rig(EVERYTHING, &[]).await;
    let id = std::fs::copy("/usr/bin/id", rig.inside("id"));
    // Only the superuser can make it somebody else's.
    if IS_PORTABLE || id.is_err() || !rustix::process::getuid().is_root() {
        return;
    }
    let nobody = 65_534;
    std::os::unix::fs::chown(rig.inside("id"), Some(nobody), None).unwrap();
    std::fs::set_permissions(rig.inside("id"), PermissionsExt::from_mode(0o4755)).unwrap();
    let unbound = std::process::Command::new(rig.inside("id")).arg("-u").output().unwrap();
    assert_eq!(unbound.stdout, b"65534\n", "without the server it does");
    for flags in [&[][..], &["--sandbox", "off"]] {
        let rig = super::rig::rig(EVERYTHING, flags).await;
        std::fs::copy("/usr/bin/id", rig.inside("id")).unwrap();
        std::os::unix::fs::chown(rig.inside("id"), Some(nobody), None).unwrap();
        std::fs::set_permissions(rig.inside("id"), PermissionsExt::from_mode(0o4755)).unwrap();
        assert_eq!(script(&rig, "./id -u").await, (0, "0\n".to_owned()), "{flags:?}");
    }
}

/// Whoever wants to be the superuser has to be classified first, and gains nothing then.
#[tokio::test]
async fn programs_that_change_the_user_are_not_among_those_that_run() {
    let rig = rig("", &[]).await;
    for command in ["sudo", "su", "doas", "pkexec", "newgrp", "mount"] {
        let answer = rig.execute(json!({"command": command, "args": ["id"]})).await;
        assert!(answer.is_error, "{command}: {}", answer.text());
    }
}
