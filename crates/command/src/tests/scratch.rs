//! The directory in which a program may write what is gone with its call.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::confined::script;
use super::rig::{EVERYTHING, IS_PORTABLE, rig};

/// A program may put there what only its user is to read.
#[tokio::test]
async fn nobody_else_sees_the_scratch_directory() {
    let rig = rig(EVERYTHING, &[]).await;
    let (code, said) = script(&rig, "ls -ld $TMPDIR").await;
    assert_eq!((code, said.get(..10)), (0, Some("drwx------")), "{said}");
}

#[tokio::test]
async fn a_scratch_directory_serves_again_only_as_it_was_made() {
    const MANY: usize = 1000;
    let rig = rig(EVERYTHING, &[]).await;
    for change in [
        "echo x > $TMPDIR/left",
        "echo x > $TMPDIR/gone && rm $TMPDIR/gone",
        "mkdir -p $TMPDIR/a/b && chmod 0 $TMPDIR/a",
        "chmod 755 $TMPDIR",
        "touch -d 2001-01-01 $TMPDIR",
    ] {
        let mut seen = BTreeSet::new();
        while !IS_PORTABLE && seen.insert(script(&rig, "echo $TMPDIR").await.1) {
            assert!(seen.len() < MANY, "none serves again");
        }
        let (code, changed) = script(&rig, &format!("{change}; echo $TMPDIR")).await;
        assert_eq!(code, 0, "{change}: {changed}");
        for _ in 0..5 {
            let (_, next) = script(&rig, "echo $TMPDIR; ls -A $TMPDIR").await;
            assert_eq!(next.lines().count(), 1, "{change}: {next}");
            assert_ne!(next, changed, "{change}");
        }
        until_gone(changed.trim()).await;
    }
}

/// A program that has ended its helper may go on, and write there later.
#[tokio::test]
async fn where_a_helper_was_lost_nothing_serves_again() {
    let rig = rig(EVERYTHING, &["--sandbox", "off"]).await;
    // Old enough to serve again.
    script(&rig, "sleep 0.1").await;
    let place = rig.inside("place");
    let lose = format!(
        "echo $TMPDIR > {}; exec > /dev/null 2>&1 < /dev/null; kill -9 $PPID; sleep 0.5",
        place.display()
    );
    let answer = rig.sh(&lose).await;
    assert!(answer.is_error, "{}", answer.text());
    let lost = std::fs::read_to_string(place).unwrap();
    for _ in 0..10 {
        assert_ne!(script(&rig, "echo $TMPDIR").await.1, lost);
    }
    until_gone(lost.trim()).await;
}

async fn until_gone(dir: &str) {
    for _ in 0..1000 {
        if !Path::new(dir).exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{dir} is still there");
}

/// Somebody who cleans up in the machine's temporary directories removes what is old.
#[tokio::test]
async fn a_scratch_directory_that_was_removed_serves_nobody() {
    let rig = rig(EVERYTHING, &[]).await;
    let mut served_again = 0;
    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        let (code, dir) = script(&rig, "cd $TMPDIR && pwd").await;
        assert_eq!(code, 0, "{dir}");
        if !seen.insert(dir.clone()) {
            served_again += 1;
            // By then it is the next but one's; otherwise it may be on its way to one.
            if served_again % 2 == 0 {
                script(&rig, "sleep 0.05").await;
            }
            let _removed_already = std::fs::remove_dir(dir.trim());
        }
    }
    assert!(served_again > 3 || IS_PORTABLE, "{served_again}");
}
