//! Which file a name stands for, and what is known of it.

use serde_json::json;

use super::refused::refuses;
use super::rig::{EVERYTHING, rig};

#[tokio::test]
async fn a_path_must_lead_to_the_very_program() {
    let rig = rig("", &[]).await;
    let found = rig.call("describe_policy", json!({"command": "ls"})).await;
    let path = found.structured["decision"]["program"].as_str().unwrap().to_owned();
    assert!(!rig.execute(json!({"command": path})).await.is_error);
    std::fs::copy(&path, rig.inside("ls")).unwrap();
    refuses(&rig, json!({"command": rig.inside("ls")}), "is not the program of that name").await;
    refuses(&rig, json!({"command": "/bin/../tmp/ls"}), "is not the program of that name").await;
}

/// Programs that run what they are told to, whatever their arguments.
const INTERPRETERS: &[&str] = &[
    "env",
    "xargs",
    "nice",
    "timeout",
    "setsid",
    "stdbuf",
    "busybox",
    "chrt",
    "prlimit",
    "parallel",
    "split",
    "make",
    "npx",
    "npm",
    "cargo",
    "uv",
    "tmux",
    "gcc",
    "ssh-keygen",
    "dash",
    "ash",
    "sh",
    "bash",
    "zsh",
    "awk",
    "gawk",
    "mawk",
    "zip",
    "rsync",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "sudo",
    "su",
    "doas",
    "nohup",
    "time",
    "script",
    "strace",
    "gdb",
    "vim",
    "less",
    "man",
    "docker",
    "systemd-run",
    "flock",
    "watch",
    "taskset",
    "ionice",
    "setarch",
    "unshare",
    "chroot",
];

#[tokio::test]
async fn wrappers_and_interpreters_are_a_class_of_their_own() {
    let outside = tempfile::tempdir().unwrap();
    let (root, bin) = (outside.path().join("root"), outside.path().join("bin"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let unknown = "ld-linux-x86-64.so.2";
    for name in INTERPRETERS.iter().chain(&[unknown, "ls", "cp", "curl"]) {
        std::fs::copy("/bin/true", bin.join(name)).unwrap();
    }
    let open = |policy: &str| {
        let file = outside.path().join("policy.toml");
        std::fs::write(&file, policy).unwrap();
        let [root, bin, file] = [&root, &bin, &file].map(|path| path.to_str().unwrap());
        let flags = ["x", "--root", root, "--path", bin, "--policy", file];
        let config: crate::config::Config = clap::Parser::try_parse_from(flags).unwrap();
        crate::backend::Backend::open(&config.settings()).unwrap()
    };
    // Whatever else is granted, these are not.
    let most = open("grant = ['data', 'config', 'writer', 'network']");
    for name in ["ls", "cp", "curl"] {
        most.decide(name, &[], None).unwrap();
    }
    for name in INTERPRETERS {
        let error = most.decide(name, &[], None).unwrap_err().to_string();
        assert!(error.contains("runs whatever it is told to"), "{name}: {error}");
        assert!(error.contains(&format!("[program.{name}]\nallow = true")), "{name}: {error}");
    }
    // And what nobody has classified is not run at all, even with all of them granted.
    let all = open(EVERYTHING);
    let error = all.decide(unknown, &["/bin/sh".to_owned()], None).unwrap_err().to_string();
    assert!(error.contains("is not in the policy"), "{error}");
    all.decide("env", &["id".to_owned()], None).unwrap();
}

#[tokio::test]
async fn programs_come_from_safe_places_only() {
    let rig = rig("", &[]).await;
    for name in ["ls", "mine"] {
        std::fs::copy("/bin/true", rig.inside(name)).unwrap();
    }
    let inside = rig.inside("").to_str().unwrap().to_owned();
    let loose = rig.outside.path().join("loose");
    std::fs::create_dir(&loose).unwrap();
    std::fs::copy("/bin/true", loose.join("mine")).unwrap();
    std::fs::set_permissions(&loose, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let path = format!(".::{inside}:{}:relative:/usr/bin:/bin", loose.display());
    let policy = "program.mine.class = 'data'";
    let file = rig.outside.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let flags = ["x", "--root", &inside, "--path", &path, "--policy", file.to_str().unwrap()];
    let config: crate::config::Config = clap::Parser::try_parse_from(flags).unwrap();
    let backend = crate::backend::Backend::open(&config.settings()).unwrap();
    let listing = backend.decide("ls", &[], None).unwrap();
    assert!(!listing.found.path.starts_with(&inside), "{listing:?}");
    assert!(backend.decide("mine", &[], None).is_err());
}

#[tokio::test]
async fn a_program_that_changes_is_not_run_again() {
    let outside = tempfile::tempdir().unwrap();
    let (root, bin) = (outside.path().join("root"), outside.path().join("bin"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&bin).unwrap();
    std::fs::copy("/bin/true", bin.join("mine")).unwrap();
    let policy = outside.path().join("policy.toml");
    std::fs::write(&policy, "program.mine.class = 'data'").unwrap();
    let [root, bin, policy] = [&root, &bin, &policy].map(|path| path.to_str().unwrap());
    let config: crate::config::Config =
        clap::Parser::try_parse_from(["x", "--root", root, "--path", bin, "--policy", policy])
            .unwrap();
    let backend = crate::backend::Backend::open(&config.settings()).unwrap();
    backend.decide("mine", &[], None).unwrap();
    std::fs::remove_file(format!("{bin}/mine")).unwrap();
    std::fs::copy("/bin/false", format!("{bin}/mine")).unwrap();
    let error = backend.decide("mine", &[], None).unwrap_err();
    assert!(error.to_string().contains("is not the file it was"), "{error}");
}
