//! Programs that may run anything, and what the kernel still refuses them. If the kernel has not
//! got what it takes, the self-test must say so, and these tests prove that instead.

use std::os::unix::net::{UnixDatagram, UnixListener};

use serde_json::{Value, json};

use super::rig::{EVERYTHING, IS_PORTABLE, Rig, rig, stdout};

const NOT_ENFORCED: &str = "not_enforced (the kernel does not)";

/// `true` if the sandbox claims to enforce it.
pub(super) async fn claims(rig: &Rig, guarantee: &str) -> bool {
    let told = rig.call("describe_policy", json!({})).await;
    told.structured["sandbox"][guarantee] == "enforced"
}

pub(super) async fn script(rig: &Rig, text: &str) -> (i64, String) {
    let answer = rig.sh(text).await;
    let code = answer.structured["exit_code"].as_i64().unwrap_or(-1);
    (code, stdout(&answer).to_owned() + answer.structured["stderr"]["head"].as_str().unwrap_or(""))
}

#[tokio::test]
async fn files_outside_are_neither_read_nor_written() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "fs_write").await || !claims(&rig, "fs_read").await {
        return;
    }
    let outside = rig.outside.path().to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("../secret.txt", rig.inside("link")).unwrap();
    for text in [
        format!("cat {outside}/secret.txt"),
        "cat link".to_owned(),
        "cat ../secret.txt".to_owned(),
        format!("ls {outside}"),
        format!("echo x > {outside}/new"),
        format!("echo x >> {outside}/secret.txt"),
        format!("mv {outside}/secret.txt ."),
        format!("ln {outside}/secret.txt hard"),
        format!("rm {outside}/secret.txt"),
        format!("truncate -s 0 {outside}/secret.txt"),
        format!("mkdir {outside}/dir"),
        format!("cat /proc/{}/environ", std::process::id()),
        "cat /proc/$PPID/environ".to_owned(),
        "cat /etc/shadow".to_owned(),
        "ls /root /home".to_owned(),
        format!("cp a.txt {outside}/policy.toml"),
    ] {
        let (code, said) = script(&rig, &text).await;
        assert_ne!(code, 0, "{text}: {said}");
        assert!(!said.contains("hunter2"), "{text}: {said}");
    }
    let secret = std::fs::read_to_string(rig.outside.path().join("secret.txt")).unwrap();
    assert_eq!(secret, "hunter2");
    // What is granted works.
    let (code, said) = script(&rig, "echo x > new && cat new && echo y > $TMPDIR/t").await;
    assert_eq!((code, said.as_str()), (0, "x\n"));
}

#[tokio::test]
async fn a_program_of_the_class_data_writes_and_starts_nothing() {
    // As if the rules for arguments had a hole.
    let policy = "program.find.arguments = { any_option = true, operands = ['any'] }\n\
        program.sort.arguments = { any_option = true, operands = ['any'] }";
    let rig = rig(policy, &[]).await;
    if !claims(&rig, "execute").await || !claims(&rig, "fs_write").await {
        return;
    }
    for (command, args) in [
        ("find", json!([".", "-maxdepth", "0", "-exec", "id", ";"])),
        ("find", json!([".", "-name", "a.txt", "-delete"])),
        ("find", json!([".", "-fprint", "out"])),
        ("sort", json!(["-o", "out", "a.txt"])),
        ("sort", json!(["-o", "a.txt", "a.txt"])),
    ] {
        let answer = rig.execute(json!({"command": command, "args": args})).await;
        let said = answer.text();
        assert!(said.contains("Permission denied"), "{command} {args}: {said}");
        assert!(!said.contains("uid="), "{said}");
    }
    assert!(!rig.inside("out").exists());
    assert_eq!(std::fs::read_to_string(rig.inside("a.txt")).unwrap(), "one\ntwo\n");
}

/// The loader starts whatever it can read, and has to be started itself with every program.
#[tokio::test]
async fn a_program_of_the_class_data_does_not_start_the_loader_either() {
    let policy = "program.find.arguments = { any_option = true, operands = ['any'] }\n\
        program.tar.starts = ['/usr/bin/gzip']\nprogram.env.allow = true";
    let rig = rig(policy, &[]).await;
    if !claims(&rig, "execute").await {
        return;
    }
    let find = |loader: &str| {
        let args = [".", "-maxdepth", "0", "-exec", loader, "/usr/bin/id", ";"];
        json!({"command": "find", "args": args})
    };
    for loader in crate::backend::loaders() {
        let loader = loader.to_str().unwrap();
        let free = std::process::Command::new(loader).arg("/usr/bin/id").output().unwrap();
        assert!(free.stdout.starts_with(b"uid="), "without the server it does");
        let answer = rig.execute(find(loader)).await;
        assert!(answer.text().contains("Permission denied"), "{}", answer.text());
        assert!(!answer.text().contains("uid="), "{}", answer.text());
        assert_eq!(answer.structured["sandbox"]["execute"], "enforced");
        // Nor where what is done ahead for a call cannot be used.
        let mut piped = find(loader);
        piped["pipeline"] = json!([find(loader)]);
        assert!(!rig.execute(piped).await.text().contains("uid="));
    }
    // What may start others is not said to be held back.
    for (command, args) in [("tar", json!(["-f", "missing.tar"])), ("env", json!([]))] {
        let answer = rig.execute(json!({"command": command, "args": args})).await;
        assert_eq!(answer.structured["sandbox"]["execute"], "granted", "{}", answer.text());
    }
}

#[tokio::test]
async fn there_is_no_network_and_no_socket_of_this_machine() {
    let rig = rig(EVERYTHING, &["--read", "/root/.pyenv"]).await;
    if !claims(&rig, "net").await {
        return;
    }
    UnixListener::bind(rig.inside("socket")).unwrap();
    if !has_python(&rig).await {
        return;
    }
    for (socket, allowed) in [
        ("AF_INET, SOCK_STREAM", false),
        ("AF_INET, SOCK_DGRAM", false),
        ("AF_INET6, SOCK_DGRAM", false),
        ("AF_UNIX, SOCK_STREAM", false),
        ("AF_NETLINK, SOCK_RAW", false),
        ("AF_PACKET, SOCK_RAW", false),
        ("AF_VSOCK, SOCK_STREAM", false),
    ] {
        let code = format!("from socket import *; socket({socket}); print('got it')");
        let (_, said) = python(&rig, &code).await;
        assert_eq!(said.contains("got it"), allowed, "{socket}: {said}");
        assert!(said.contains("PermissionError"), "{socket}: {said}");
    }
    // What stays within the program is no way out; datagrams can be sent to anybody.
    let (code, said) = python(&rig, "from socket import *; socketpair(); print('got it')").await;
    assert_eq!(code, 0, "{said}");
    let listening = UnixDatagram::bind(rig.inside("datagrams")).unwrap();
    listening.set_nonblocking(true).unwrap();
    let send = "from socket import *; \
                socketpair(AF_UNIX, SOCK_DGRAM)[0].sendto(b'x', 'datagrams')";
    let (_, said) = python(&rig, send).await;
    assert!(said.contains("PermissionError"), "{said}");
    assert!(listening.recv(&mut [0; 1]).is_err());
}

#[tokio::test]
async fn the_network_is_there_if_granted() {
    let policy =
        format!("{EVERYTHING}\nprogram.python3 = {{ network = true, path = '/usr/bin/python3' }}");
    let rig = rig(&policy, &[]).await;
    if !has_python(&rig).await {
        return;
    }
    let code =
        "from socket import *; socket(AF_INET, SOCK_STREAM).bind(('127.0.0.1', 0)); print(1)";
    let answer = rig.execute(json!({"command": "python3", "args": ["-c", code]})).await;
    assert_eq!(stdout(&answer), "1\n", "{}", answer.text());
    let granted = if IS_PORTABLE { NOT_ENFORCED } else { "granted" };
    assert_eq!(answer.structured["sandbox"]["net"], granted);
}

#[tokio::test]
async fn system_calls_that_lead_around_are_refused() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "net").await {
        return;
    }
    for text in ["unshare -Ur true", "unshare -n true", "mount -t tmpfs x ."] {
        let (code, said) = script(&rig, text).await;
        assert_ne!(code, 0, "{text}: {said}");
        assert!(!said.contains("not found"), "{text}: {said}");
    }
    if !has_python(&rig).await {
        return;
    }
    const NOT_PERMITTED: i32 = 1;
    const UNKNOWN: i32 = 38;
    for (number, error) in [
        (101, NOT_PERMITTED),         // ptrace
        (425, NOT_PERMITTED),         // io_uring_setup
        (321, NOT_PERMITTED),         // bpf
        (250, NOT_PERMITTED),         // keyctl
        (298, NOT_PERMITTED),         // perf_event_open
        (310, NOT_PERMITTED),         // process_vm_readv
        (435, UNKNOWN),               // clone3, so that `clone` is used
        (0x4000_0000 + 521, UNKNOWN), // ptrace by the second way in
    ] {
        let code = format!(
            "import ctypes; c = ctypes.CDLL(None, use_errno=True); \
             print(c.syscall({number}, 0, 0, 0, 0, 0), ctypes.get_errno())"
        );
        if cfg!(target_arch = "x86_64") {
            let (_, said) = python(&rig, &code).await;
            assert_eq!(said, format!("-1 {error}\n"), "{number}");
        }
    }
}

#[tokio::test]
async fn no_signal_reaches_the_server_or_the_helper() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "signals").await {
        return;
    }
    for process in [std::process::id().to_string(), "$PPID".to_owned()] {
        let (code, said) = script(&rig, &format!("kill -9 {process}")).await;
        assert_ne!(code, 0, "{process}");
        assert!(said.contains("not permitted"), "{said}");
    }
    assert_eq!(script(&rig, "sleep 100 & kill $! && echo done").await, (0, "done\n".to_owned()));
}

/// Whoever's limits are taken away can neither watch nor end what it has started.
#[tokio::test]
async fn a_program_changes_its_own_limits_only() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "signals").await {
        return;
    }
    for process in [std::process::id().to_string(), "$PPID".to_owned()] {
        for text in [
            format!("prlimit --pid {process} --core=0:0"),
            format!("renice -n 5 -p {process}"),
            format!("ionice -c 3 -p {process}"),
            format!("ionice -c 3 -u {}", rustix::process::getuid().as_raw()),
            format!("chrt --idle -p 0 {process}"),
            format!("taskset -p 1 {process}"),
        ] {
            let (_, said) = script(&rig, &text).await;
            assert!(said.contains("not permitted"), "{text}: {said}");
        }
    }
    for text in ["prlimit --core=0:0 true", "ulimit -n 50", "nice true", "ionice -c 3 true"] {
        assert_eq!(script(&rig, text).await, (0, String::new()), "{text}");
    }
}

/// What belongs to no process ends with none.
#[tokio::test]
async fn no_memory_outlives_a_call() {
    let rig = rig(EVERYTHING, &[]).await;
    if !claims(&rig, "net").await {
        return;
    }
    for text in ["ipcmk -M 4096", "ipcmk -Q", "ipcmk -S 1"] {
        let (code, said) = script(&rig, text).await;
        assert_ne!(code, 0, "{text}");
        assert!(said.contains("not permitted"), "{text}: {said}");
    }
}

#[tokio::test]
async fn no_program_gains_privileges() {
    if IS_PORTABLE {
        return;
    }
    let rig = rig(EVERYTHING, &[]).await;
    let (_, said) = script(
        &rig,
        "while read k v; do case $k in NoNewPrivs:) echo $v;; esac; done < /proc/self/status",
    )
    .await;
    // Without the sandbox its own entry can be read; within it is not shown at all.
    assert!(said == "1\n" || said.contains("ermission denied"), "{said}");
    let rig = super::rig::rig(EVERYTHING, &["--sandbox", "off"]).await;
    let (_, said) = script(
        &rig,
        "while read k v; do case $k in NoNewPrivs:) echo $v;; esac; done < /proc/self/status",
    )
    .await;
    assert_eq!(said, "1\n");
}

/// `git status` runs what the configuration of a hostile directory names.
#[tokio::test]
async fn a_hostile_repository_runs_nothing() {
    let rig = rig("", &[]).await;
    let told = rig.call("describe_policy", json!({"command": "git"})).await;
    if told.structured["decision"]["allowed"] != true || !claims(&rig, "execute").await {
        return;
    }
    let pwned = rig.inside("pwned");
    let touch = format!("touch {}", pwned.display());
    let set = |args: &[&str]| {
        let done = std::process::Command::new("git")
            .current_dir(rig.inside(""))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(args)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    set(&["init", "-q"]);
    set(&["add", "."]);
    set(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]);
    for (name, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("core.pager", &touch),
        ("diff.external", &touch),
        ("core.sshCommand", &touch),
        ("filter.evil.clean", &touch),
        ("filter.evil.smudge", &touch),
        ("diff.evil.textconv", &touch),
        ("diff.evil.command", &touch),
        ("core.editor", &touch),
        ("gpg.program", &touch),
    ] {
        set(&["config", name, value]);
    }
    std::fs::write(rig.inside(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    std::fs::write(rig.inside("a.txt"), "changed\n").unwrap();
    for args in [
        json!(["status"]),
        json!(["diff"]),
        json!(["log", "-p"]),
        json!(["show"]),
        json!(["blame", "a.txt"]),
        json!(["branch", "-a"]),
    ] {
        let answer = rig.execute(json!({"command": "git", "args": args})).await;
        assert!(!pwned.exists(), "{args}: {}", answer.text());
    }
    let answer = rig.execute(json!({"command": "git", "args": ["log", "--oneline"]})).await;
    assert!(stdout(&answer).ends_with(" x\n"), "{}", answer.text());
}

#[tokio::test]
async fn what_holds_is_said() {
    let rig = rig(EVERYTHING, &["--sandbox", "off"]).await;
    let answer = rig.sh("true").await;
    for guarantee in ["fs_write", "fs_read", "execute", "net", "unix_sockets", "signals"] {
        assert_eq!(answer.structured["sandbox"][guarantee], "not_enforced (--sandbox off)");
    }
    let found = if IS_PORTABLE { NOT_ENFORCED } else { "enforced" };
    assert_eq!(answer.structured["sandbox"]["tree_kill"], found);
    let secret = rig.outside.path().join("secret.txt");
    let (_, said) = script(&rig, &format!("cat {}", secret.display())).await;
    assert_eq!(said, "hunter2", "the sandbox is off");
    if IS_PORTABLE {
        let required = ["mcp-command", "--sandbox", "required", "--root", "."];
        assert!(crate::server(clap::Parser::try_parse_from(required).unwrap()).is_err());
        return;
    }
    let rig = super::rig::rig("", &["--sandbox", "required"]).await;
    let answer = rig.execute(json!({"command": "true"})).await;
    assert_eq!(answer.structured["exit_code"], 0, "{}", answer.text());
    assert_eq!(answer.structured["sandbox"]["fs_write"], "enforced");
}

pub(super) async fn has_python(rig: &Rig) -> bool {
    python(rig, "print(1)").await == (0, "1\n".to_owned())
}

pub(super) async fn python(rig: &Rig, code: &str) -> (i64, String) {
    let arguments = json!({
        "command": "sh", "args": ["-c", "exec /usr/bin/python3 -c \"$1\"", "sh", code],
    });
    let answer = rig.execute(arguments).await;
    let stderr = answer.structured["stderr"]["head"].as_str().unwrap_or("");
    let code = answer.structured["exit_code"].as_i64();
    let text = answer.structured["stdout"]["head"].as_str().unwrap_or("");
    (code.unwrap_or(-1), format!("{text}{stderr}"))
}

#[tokio::test]
async fn the_hints_do_not_lie() {
    let rig = rig("", &[]).await;
    let tools = rig.client.list("tools/list", "tools").await.unwrap();
    let hints = |name: &str| -> Value {
        tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"].clone()
    };
    let execute = hints("execute_command");
    assert_eq!(execute["destructiveHint"], true);
    assert_eq!(execute["openWorldHint"], true);
    assert_eq!(execute["readOnlyHint"], false);
    for name in ["list_jobs", "read_output", "describe_policy", "wait"] {
        assert_eq!(hints(name)["readOnlyHint"], true, "{name}");
    }
}
