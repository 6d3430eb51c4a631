//! What the policy refuses, and what it says then. Nothing here is run.

use std::path::Path;

use serde_json::{Value, json};

use super::rig::{EVERYTHING, Rig, rig, stdout};

/// Refused with a text that holds `word`.
pub(super) async fn refuses(rig: &Rig, arguments: Value, word: &str) {
    let answer = rig.execute(arguments.clone()).await;
    assert!(answer.is_error, "{arguments} was run: {}", answer.text());
    assert!(answer.text().contains(word), "{arguments}: {}", answer.text());
}

#[tokio::test]
async fn a_command_is_never_taken_apart() {
    let rig = rig(EVERYTHING, &[]).await;
    for command in [
        "ls; id",
        "ls && id",
        "ls|id",
        "`id`",
        "$(id)",
        "ls\nid",
        "ls\rid",
        "ls -l",
        "",
        " ",
        "*",
        "echo \"safe\"; sudo rm -rf /x",
        "echo \"x $(iptables)\"",
        "${X:-sudo}",
        "cat <(rm f)",
        "echo safe\nsudo -n true",
        "\"sudo\" id",
        "/usr/bin/su*o",
        "./ls",
        "../ls",
        "inside/ls",
        "-",
        "--",
        "ls\u{200b}",
        "/",
        "..",
        "no-such-program",
    ] {
        refuses(&rig, json!({"command": command}), "There is no program").await;
    }
}

#[tokio::test]
async fn what_no_program_can_be_given_is_refused() {
    let rig = rig(EVERYTHING, &[]).await;
    for (arguments, word) in [
        (json!({"command": "l\0s"}), "NUL"),
        (json!({"command": "ls", "args": ["a\0b"]}), "NUL"),
        (json!({"command": "ls", "cwd": "a\0b"}), "NUL"),
        (json!({"command": "ls", "env": {"T\0Z": "x"}}), "NUL"),
        (json!({"command": "ls", "env": {"TZ": "x\0"}}), "NUL"),
        (json!({"command": "ls", "env": {"T=Z": "x"}}), "may not be set"),
        (json!({"command": "ls", "env": {"": "x"}}), "may not be set"),
        (json!({"command": "ls", "cwd": ".."}), "The directory"),
        (json!({"command": "ls", "cwd": "/"}), "The directory"),
        (json!({"command": "ls", "cwd": "a.txt"}), "The directory"),
        (json!({"command": "ls", "cwd": "missing"}), "The directory"),
        (json!({"command": "echo", "args": ["x".repeat(200_000)]}), "longer than the system"),
        (json!({"command": "echo", "args": vec!["x".repeat(100); 30_000]}), "longer than the"),
    ] {
        refuses(&rig, arguments, word).await;
    }
}

#[tokio::test]
async fn no_variable_can_make_a_program_run_another() {
    let names = [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "PS4",
        "SHELLOPTS",
        "IFS",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "RUBYOPT",
        "PERL5OPT",
        "JAVA_TOOL_OPTIONS",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "EDITOR",
        "PAGER",
        "LESSOPEN",
        "RIPGREP_CONFIG_PATH",
        "RUSTC_WRAPPER",
        "GCONV_PATH",
        "TERMINFO",
        "PATH",
        "HOME",
        "ld_preload",
        "TAR_OPTIONS",
    ];
    let rig = rig("", &[]).await;
    let file = rig.outside.path().join("another.toml");
    for name in names {
        refuses(&rig, json!({"command": "ls", "env": {name: "x"}}), "may not be set").await;
        // An operator who lists it is told at once.
        std::fs::write(&file, format!("allow_env = [{name:?}]")).unwrap();
        let said = start(&rig.inside(""), &file).unwrap();
        assert!(said.contains("could make a program run another"), "{name}: {said}");
    }
}

/// What is wrong with a policy.
fn start(root: &Path, policy: &Path) -> Option<String> {
    let [root, policy] = [root, policy].map(|path| path.to_str().unwrap());
    let flags = ["x", "--root", root, "--policy", policy];
    let config: crate::config::Config = clap::Parser::try_parse_from(flags).unwrap();
    crate::backend::Backend::open(&config.settings()).err().map(|error| error.to_string())
}

#[tokio::test]
async fn unclassified_programs_and_classes_not_granted_tell_the_line_to_add() {
    let rig = rig("", &[]).await;
    for (command, line) in [
        ("sh", "[program.sh]\nallow = true"),
        ("env", "[program.env]\nallow = true"),
        ("xargs", "[program.xargs]\nallow = true"),
        ("awk", "[program.awk]\nallow = true"),
        ("nice", "[program.nice]\nallow = true"),
        ("timeout", "[program.timeout]\nallow = true"),
        ("setsid", "[program.setsid]\nallow = true"),
        ("stdbuf", "[program.stdbuf]\nallow = true"),
        ("rm", "[program.rm]\nallow = true"),
        ("tee", "[program.tee]\nallow = true"),
        ("id", "[program.id]\nclass = \"interpreter\"\nallow = true"),
        ("who", "[program.who]\nclass = \"interpreter\"\nallow = true"),
        ("[", "[program.\"[\"]\nclass = \"interpreter\"\nallow = true"),
    ] {
        refuses(&rig, json!({"command": command}), line).await;
        // The very lines let it run, whatever the file holds already.
        for file in [
            "",
            "grant = ['data']\nprogram.ls.allow = false",
            "[program.cargo]\nallow = true\nnetwork = true",
            "[program]\nls = { allow = false }",
        ] {
            let rig = super::rig::rig(&format!("{file}\n{line}\n"), &[]).await;
            let told = rig.call("describe_policy", json!({"command": command})).await;
            let is_here = !told.text().contains("There is no program");
            assert!(!is_here || told.structured["decision"]["allowed"] == true, "{file} {line}");
        }
    }
}

/// What git runs on its own account is switched off by arguments in front of those given.
#[tokio::test]
async fn git_is_told_to_run_nothing() {
    let rig = rig("", &[]).await;
    let args = json!(["log", "-p"]);
    let told = rig.call("describe_policy", json!({"command": "git", "args": args})).await;
    let decision = &told.structured["decision"];
    if decision["allowed"] != true {
        return;
    }
    let args = decision["args"].as_array().unwrap();
    for wanted in [
        "--no-pager",
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "diff.external=",
        "--no-ext-diff",
        "--no-textconv",
    ] {
        assert!(args.contains(&json!(wanted)), "{wanted}: {decision}");
    }
    let environment = rig.execute(json!({"command": "git", "args": ["--version"]})).await;
    assert!(!environment.is_error, "{}", environment.text());
}

/// Arguments by which programs write or run something.
const REFUSED: &[(&str, &[&str])] = &[
    ("git", &["-c", "core.pager=id", "log"]),
    ("git", &["-c", "alias.x=!id", "x"]),
    ("git", &["--exec-path=/tmp", "status"]),
    ("git", &["--config-env=core.pager=X", "log"]),
    ("git", &["-C", "/", "status"]),
    ("git", &["log", "--output=f"]),
    ("git", &["diff", "--ext-diff"]),
    ("git", &["diff", "--no-index", "--output=/tmp/out", "a", "b"]),
    ("git", &["diff", "--textconv"]),
    ("git", &["difftool", "-x", "id"]),
    ("git", &["submodule", "foreach", "id"]),
    ("git", &["grep", "-Oid", "x"]),
    ("git", &["grep", "-iOid", "x"]),
    ("git", &["grep", "--open-files-in-pager=id", "x"]),
    ("git", &["clone", "ext::sh -c id"]),
    ("git", &["fetch", "--upload-pack=id"]),
    ("git", &["branch", "-D", "main"]),
    ("git", &["x"]),
    ("git", &["rebase", "--exec", "id"]),
    ("find", &[".", "-exec", "id", ";"]),
    ("find", &[".", "-maxdepth", "0", "-exec", "sh", "-c", "id", "{}", "+"]),
    ("find", &[".", "-execdir", "id", ";"]),
    ("find", &[".", "-ok", "id", ";"]),
    ("find", &[".", "-delete"]),
    ("find", &[".", "-fls", "f"]),
    ("find", &[".", "-fprint", "f"]),
    ("find", &[".", "-fprintf", "f", "x"]),
    ("find", &["-files0-from", "/etc/passwd"]),
    ("rg", &["--pre", "id", "x", "."]),
    ("rg", &["--pre=id", "x"]),
    ("rg", &["--hostname-bin=id", "x"]),
    ("rg", &["-z", "x"]),
    ("rg", &["--search-zip", "x"]),
    ("tar", &["--checkpoint=1", "--checkpoint-action=exec=id", "-f", "x.tar"]),
    ("tar", &["--checkpoint-act=exec=id", "-f", "x.tar"]),
    ("tar", &["-I", "id", "-f", "x.tar"]),
    ("tar", &["--to-command=id", "-f", "x.tar"]),
    ("tar", &["--use-compress-program=id", "-f", "x.tar"]),
    ("tar", &["-xf", "x.tar"]),
    ("tar", &["-C", "/", "-f", "x.tar"]),
    ("tar", &["--checkpoint", "-f", "x.tar"]),
    ("tar", &["-vIid", "-f", "x.tar"]),
    ("tar", &["-F", "id", "-f", "x.tar"]),
    ("sort", &["--compress-program=id", "a.txt"]),
    ("sort", &["--compress-prog", "id", "a.txt"]),
    ("sort", &["-o", "out", "a.txt"]),
    ("sort", &["-nobad", "a.txt"]),
    ("sort", &["-T", "/tmp", "a.txt"]),
    ("sort", &["--files0-from=/etc/passwd"]),
    ("sed", &["-i", "s/a/b/", "a.txt"]),
    ("sed", &["-ni", "p", "a.txt"]),
    ("sed", &["--in-place", "p", "a.txt"]),
    ("sed", &["-f", "script", "a.txt"]),
    ("uniq", &["a.txt", "out"]),
    ("xxd", &["a.txt", "out"]),
    ("xxd", &["-r", "a.txt"]),
    ("date", &["-s", "2020-01-01"]),
    ("date", &["--set=2020-01-01"]),
    ("file", &["-C", "-m", "x"]),
    ("tree", &["-o", "out"]),
    ("jq", &["-f", "/etc/passwd", "."]),
    // What looks like a value and is none.
    ("git", &["diff", "--relative", "--output=f"]),
    ("git", &["diff", "--abbrev", "--ext-diff"]),
    ("git", &["diff", "-U", "--output=f"]),
    ("git", &["log", "--pretty", "--output=f"]),
    ("git", &["log", "--stat", "--output=f"]),
    ("git", &["show", "--abbrev", "--textconv"]),
    ("git", &["status", "-u", "--ext-diff"]),
    ("git", &["describe", "--abbrev", "--output=f"]),
    ("od", &["-w", "/etc/passwd"]),
    ("date", &["--iso-8601", "--set=2020-01-01"]),
    ("date", &["-I", "-f/etc/passwd"]),
    ("date", &["010100002030"]),
    ("tree", &["-Lo", "2", "out"]),
    ("xxd", &["a.txt", "-sx"]),
    // What looks like the end of options and is none.
    ("find", &["--", ".", "-exec", "id", ";"]),
    ("find", &["--", ".", "-fls", "f"]),
    ("diff", &["--palette", "--", "--from-file=/etc/passwd"]),
    // What begins like an option with a path.
    ("diff", &["--from-f=/etc/passwd", "a.txt"]),
    ("wc", &["--files0=/etc/passwd"]),
    ("hexdump", &["--format-file=/etc/passwd", "a.txt"]),
    ("touch", &["--ref=/etc/passwd", "a.txt"]),
    ("cp", &["a.txt", "--target=/tmp"]),
    ("mv", &["--target", "/tmp", "a.txt"]),
    // Where the first operand is a path.
    ("grep", &["-e", "root", "/etc/passwd"]),
    ("grep", &["/etc/passwd", "-ne", "root"]),
    ("grep", &["--regexp=root", "/etc/passwd"]),
    ("sed", &["-e", "p", "/etc/passwd"]),
    ("rg", &["--files", "/etc"]),
    ("chmod", &["-x", "/etc/passwd"]),
    ("strings", &["@/etc/passwd"]),
    ("git", &["diff", "/dev/null", "/etc/passwd"]),
    ("git", &["branch", "new"]),
    ("git", &["reflog", "expire", "--all", "--expire=now"]),
    ("jq", &["--rawfile", "x", "/etc/passwd", "."]),
];

/// And ones like them that are harmless.
const ALLOWED: &[(&str, &[&str])] = &[
    ("git", &["status", "-sb"]),
    ("git", &["log", "--oneline", "-n", "5", "-p", "--", "a.txt"]),
    ("git", &["log", "-5"]),
    ("git", &["log", "-n10", "--since=yesterday", "main..dev"]),
    ("git", &["diff", "--cached", "-U10", "HEAD~1"]),
    ("git", &["show", "HEAD:a.txt"]),
    ("git", &["--version"]),
    ("find", &[".", "(", "-name", "*.rs", "-o", "-name", "*.toml", ")", "-type", "f"]),
    ("rg", &["-n", "fn main", "-g", "*.rs", "."]),
    ("grep", &["-rnE", "--include=*.txt", "-A3", "/etc/passwd", "."]),
    ("tar", &["-tvzf", "x.tar.gz"]),
    ("sort", &["-k2,2", "-rn", "-t", ",", "a.txt"]),
    ("sed", &["-n", "1,5p", "a.txt"]),
    ("head", &["-n", "3", "a.txt"]),
    ("head", &["-3", "a.txt"]),
    ("ls", &["-la", "--color=auto"]),
    ("cat", &["-"]),
    ("cat", &["--", "-n"]),
    ("diff", &["-u", "a.txt", "b.txt"]),
    ("grep", &["-e", "/etc/passwd", "a.txt"]),
    ("grep", &["-2", "-e", "one", "--", "a.txt"]),
    ("rg", &["--files", "-g", "*.rs"]),
    ("git", &["diff", "--stat=80", "-M50%", "main...dev", "--", ":!x"]),
    ("git", &["log", "--pretty=oneline", "--abbrev=8", "-U3", "-iw"]),
    ("git", &["status", "-uno", "--porcelain=v2"]),
    ("git", &["branch", "--show-current"]),
    ("git", &["reflog", "show", "HEAD"]),
    ("git", &["for-each-ref", "--sort=-committerdate", "--count", "5"]),
    ("git", &["blame", "-L", "1,3", "--line-porcelain", "a.txt"]),
    ("date", &["-u", "+%F"]),
    ("date", &["-Iseconds"]),
    ("tree", &["-aL", "2"]),
    ("xxd", &["-l", "16", "a.txt"]),
    ("diff", &["--label", "--", "a.txt", "a.txt"]),
    ("wc", &["-l", "--", "a.txt"]),
    ("head", &["--lines", "3", "--", "a.txt"]),
];

#[tokio::test]
async fn arguments_not_listed_are_refused() {
    let rig = rig("grant = ['data', 'config', 'writer']", &[]).await;
    for (command, args) in REFUSED {
        let decided = rig.call("describe_policy", json!({"command": command, "args": args})).await;
        let decision = &decided.structured["decision"];
        assert_eq!(decision["allowed"], false, "{command} {args:?}: {}", decided.text());
        let why = decision["refusal"].as_str().unwrap();
        let right = ["the argument", "the subcommand", "There is no program"];
        assert!(right.iter().any(|it| why.contains(it)), "{command} {args:?}: {why}");
    }
    for (command, args) in ALLOWED {
        let decided = rig.call("describe_policy", json!({"command": command, "args": args})).await;
        let decision = &decided.structured["decision"];
        let here =
            decision["refusal"].as_str().is_some_and(|it| it.contains("There is no program"));
        assert!(here || decision["allowed"] == true, "{command} {args:?}: {decision}");
    }
}

#[tokio::test]
async fn paths_outside_are_refused_before_the_kernel_has_to() {
    let rig = rig("", &["--sandbox", "off"]).await;
    std::os::unix::fs::symlink("..", rig.inside("up")).unwrap();
    let secret = rig.outside.path().join("secret.txt");
    for args in [
        json!([".."]),
        json!(["../secret.txt"]),
        json!([secret]),
        json!(["/etc/passwd"]),
        json!(["up/secret.txt"]),
        json!(["--", "../secret.txt"]),
        json!(["-n", "../secret.txt"]),
        json!(["missing/../../secret.txt"]),
    ] {
        refuses(&rig, json!({"command": "cat", "args": args}), "leads outside").await;
    }
    refuses(&rig, json!({"command": "ls", "args": [".."]}), "leads outside").await;
    refuses(&rig, json!({"command": "wc", "args": ["--files0-from=../x"]}), "leads outside").await;
    refuses(&rig, json!({"command": "grep", "args": ["-f", "../x", "y"]}), "leads outside").await;
    let inside = json!({"command": "cat", "args": [rig.inside("a.txt")]});
    assert_eq!(stdout(&rig.execute(inside).await), "one\ntwo\n");
}

#[test]
fn a_wrong_policy_stops_the_start() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    let loose = outside.path().join("loose");
    for dir in [&root, &loose] {
        std::fs::create_dir(dir).unwrap();
        std::fs::copy("/bin/true", dir.join("ls")).unwrap();
    }
    std::fs::set_permissions(&loose, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    for (name, text, error) in [
        ("a.toml", "grant = ['everything']", Some("unknown variant")),
        ("b.toml", "grants = []", Some("unknown field")),
        ("c.toml", "program.x.klass = 'data'", Some("unknown field")),
        ("d.json", "{\"grant\": [\"data\"], \"program\": {\"x\": {\"class\": \"data\"}}}", None),
        ("e.json", "{\"grant\": }", Some("the policy is wrong")),
        ("f.toml", "grant = []", None),
        ("g.toml", "program.x.allow = true", Some("needs a `class`")),
        ("h.toml", "program.ls.path = 'bin/ls'", Some("give a whole path")),
        ("i.toml", "program.tar.starts = ['gzip']", Some("give a whole path")),
        ("j.toml", "program.ls.path = 'ROOT/ls'", Some("is in a root")),
        ("k.toml", "program.ls.path = 'LOOSE/ls'", Some("others can write")),
        ("l.toml", "program.ls.path = '/not/there'", None),
        ("root/inside.toml", "", Some("is in a root")),
    ] {
        let file = outside.path().join(name);
        let text = text.replace("ROOT", root.to_str().unwrap());
        std::fs::write(&file, text.replace("LOOSE", loose.to_str().unwrap())).unwrap();
        match (start(&root, &file), error) {
            (None, None) => {}
            (Some(said), Some(error)) => assert!(said.contains(error), "{name}: {said}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(start(&root, &outside.path().join("missing.toml")).unwrap().contains("--policy"));
}

#[tokio::test]
async fn an_empty_grant_runs_nothing() {
    let rig = rig("grant = []", &[]).await;
    refuses(&rig, json!({"command": "ls"}), "not granted").await;
    let told = rig.call("describe_policy", json!({})).await;
    assert_eq!(told.structured["programs"], json!([]));
}
