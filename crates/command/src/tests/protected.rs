//! Files in a root that make other programs run something later: who may write anything else there
//! changes none of them, nor makes one where there is none.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;

use super::rig::{EVERYTHING, Rig, rig, stdout};

async fn is_enforced(rig: &Rig) -> bool {
    let answer = rig.sh("true").await;
    answer.structured["sandbox"]["protected"] == "enforced"
}

/// All there is in the root, with what is in it.
fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        if path.is_dir() {
            found.extend(tree(&path));
        }
    }
    found.sort();
    found
}

/// What a script may make beside; `mv` copies what it cannot rename.
fn remove_made(rig: &Rig) {
    fs::remove_file(rig.inside("new")).ok();
    fs::remove_dir_all(rig.inside("old")).ok();
}

/// Each would make something of it that is not there or not like that.
const CHANGES: &[&str] = &[
    "echo x > .git/hooks/pre-commit",
    "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "echo x > .git/config",
    "echo x >> .git/config",
    "rm -f .git/config && echo x > .git/config",
    "echo x > new && mv new .git/config",
    "echo x > new; ln -f new .git/config",
    "ln -sf /etc/passwd .git/config",
    "rm -rf .git && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "mv .git/hooks old && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
    "echo ../evil > .git/commondir",
    "rm -f .git/commondir; echo ../evil > .git/commondir",
    "echo x > .envrc",
    "rm -f .envrc; echo x > .envrc",
    "mkdir -p .vscode && echo x > .vscode/tasks.json",
    "mv .vscode old && mkdir .vscode && echo x > .vscode/tasks.json",
    "echo x > package.json",
    "mkdir -p .claude && echo x > .claude/settings.json",
    "echo x > .mcp.json",
    "touch .envrc && test -s .envrc",
    "chmod 777 .git/hooks",
];

#[tokio::test]
async fn what_is_there_is_not_changed() {
    let rig = rig(EVERYTHING, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    fs::create_dir_all(rig.inside(".git/hooks")).unwrap();
    fs::create_dir(rig.inside(".vscode")).unwrap();
    for name in [".git/hooks/pre-commit", ".git/config", ".envrc", ".vscode/tasks.json"] {
        fs::write(rig.inside(name), "mine\n").unwrap();
    }
    fs::write(rig.inside("package.json"), "{\"scripts\": {}}\n").unwrap();
    let before = tree(&rig.inside(""));
    for script in CHANGES {
        let answer = rig.sh(script).await;
        assert_ne!(answer.structured["exit_code"], 0, "{script}: {}", answer.text());
        remove_made(&rig);
        assert_eq!(tree(&rig.inside("")), before, "{script}");
    }
    // Beside it everything may be done, and what is protected may be read.
    let script = "cat .git/config .git/hooks/pre-commit && echo x > .git/index && echo x > b.txt";
    assert_eq!(stdout(&rig.sh(script).await), "mine\nmine\n");
}

#[tokio::test]
async fn what_is_not_there_is_not_made() {
    let rig = rig(EVERYTHING, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    let before = tree(&rig.inside(""));
    for script in CHANGES {
        let answer = rig.sh(script).await;
        assert_ne!(answer.structured["exit_code"], 0, "{script}: {}", answer.text());
        remove_made(&rig);
        assert_eq!(tree(&rig.inside("")), before, "{script}");
    }
}

/// A call that ends takes nothing away from one that still runs.
#[tokio::test]
async fn calls_at_the_same_time_are_held_as_well() {
    let rig = rig(EVERYTHING, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    let script = "read line; mkdir -p .git/hooks || echo refused; echo x > .envrc || echo refused";
    let first = json!({"command": "sh", "args": ["-c", script], "open_stdin": true, "yield_ms": 1});
    let job = rig.execute(first).await.structured["job_id"].clone();
    for _ in 0..3 {
        rig.sh("true").await;
    }
    rig.call("write_stdin", json!({"job_id": job, "data": "\n"})).await;
    let answer = rig.call("wait", json!({"job_id": job})).await;
    assert_eq!(stdout(&answer), "refused\nrefused\n", "{}", answer.text());
    assert!(!rig.inside(".envrc").exists() && !rig.inside(".git").exists());
}

/// Where it is a file, and where it is a link, what would take its place counts.
#[tokio::test]
async fn a_link_is_not_taken_for_what_it_leads_to() {
    let rig = rig(EVERYTHING, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    fs::write(rig.inside(".git"), "gitdir: ../elsewhere\n").unwrap();
    let answer = rig.sh("rm -f .git; mkdir -p .git/hooks").await;
    assert_ne!(answer.structured["exit_code"], 0, "{}", answer.text());
    assert_eq!(fs::read_to_string(rig.inside(".git")).unwrap(), "gitdir: ../elsewhere\n");
    fs::remove_file(rig.inside(".git")).unwrap();
    std::os::unix::fs::symlink("a.txt", rig.inside(".envrc")).unwrap();
    let answer = rig.sh("true").await;
    let told = answer.structured["sandbox"]["protected"].as_str().unwrap();
    assert!(told.starts_with("not_enforced"), "{told}");
}

#[tokio::test]
async fn an_operator_says_what_is_protected() {
    let policy = format!("{EVERYTHING}\nprotect = ['Makefile', 'ci/']");
    let rig = rig(&policy, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    for (script, is_refused) in
        [("echo x > Makefile", true), ("mkdir -p ci/x", true), ("echo x > .envrc", false)]
    {
        let answer = rig.sh(script).await;
        assert_eq!(answer.structured["exit_code"] != 0, is_refused, "{script} {}", answer.text());
    }
}

/// The rules for files bound who writes to one, not who changes its rights.
#[tokio::test]
async fn rights_times_and_owners_are_changed_in_the_roots_only() {
    let rig = rig(EVERYTHING, &[]).await;
    if !is_enforced(&rig).await {
        return;
    }
    let outside = rig.outside.path().join("secret.txt");
    let state = || {
        let found = fs::metadata(&outside).unwrap();
        (found.mode(), found.uid(), found.mtime(), found.ctime(), found.ctime_nsec())
    };
    let before = state();
    let path = outside.display();
    for (command, args) in [
        ("chmod", format!("-x {path}")),
        ("chmod", format!("--reference=a.txt {path}")),
        ("touch", format!("-d 2001-01-01 {path}")),
        ("sh", format!("-c chmod\u{a0}4777\u{a0}{path}")),
        ("sh", format!("-c chown\u{a0}1\u{a0}{path}")),
        ("sh", format!("-c touch\u{a0}{path}")),
        ("python3", format!("-c import\u{a0}os;os.fchmod(os.open('{path}',0),0)")),
        ("python3", "-c import\u{a0}os;os.fchmod(0,0o666)".to_owned()),
        ("python3", format!("-c import\u{a0}os;os.setxattr('{path}','user.x',b'y')")),
    ] {
        let args: Vec<_> = args.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        let answer = rig.execute(json!({"command": command, "args": args})).await;
        assert_ne!(answer.structured["exit_code"], 0, "{command} {args:?}: {}", answer.text());
        assert_eq!(state(), before, "{command} {args:?}");
    }
    let change = "chmod 751 a.txt && touch -d 2001-01-01 a.txt && stat -c '%a %Y' a.txt && \
                  mkdir $TMPDIR/x && chmod 700 $TMPDIR/x";
    assert_eq!(stdout(&rig.sh(change).await), "751 978307200\n");
}

/// Not even in the roots.
#[tokio::test]
async fn what_only_reads_changes_no_rights() {
    let policy = "program.stat.path = '/bin/chmod'\nprogram.cat.path = '/bin/touch'";
    let rig = rig(policy, &[]).await;
    let sandbox = rig.execute(json!({"command": "true"})).await.structured["sandbox"].clone();
    if sandbox["fs_write"] != "enforced" {
        return;
    }
    let before = fs::metadata(rig.inside("a.txt")).unwrap().ctime_nsec();
    for (command, args) in [("stat", ["700", "a.txt"]), ("cat", ["-c", "a.txt"])] {
        let answer = rig.execute(json!({"command": command, "args": args})).await;
        assert!(answer.text().contains("not permitted"), "{}", answer.text());
    }
    assert_eq!(fs::metadata(rig.inside("a.txt")).unwrap().ctime_nsec(), before);
}
