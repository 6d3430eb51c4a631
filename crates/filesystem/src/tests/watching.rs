//! Subscribers are told of changes of files, and of nothing else. Awaited, never slept for: after
//! each change another file, the fence, is changed as well, and what is heard before that is all.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcp::Revision;
use mcp::client::Client;
use serde_json::json;

use super::{connect, directory};

/// A client that hears of changes below `inside`, and of the fence.
struct Ear {
    client: Client,
    inside: PathBuf,
}

impl Ear {
    async fn new(dir: &Path, paths: &[&str]) -> Self {
        let inside = dir.join("inside");
        let client = connect(dir, Revision::V2025_11_25).await;
        std::fs::write(inside.join("zz-fence"), "").unwrap();
        make_old(&inside);
        // It seems to have changed just now, so it is heard as soon as it is watched: last of all.
        let soon = SystemTime::now() + Duration::from_secs(3600);
        File::open(inside.join("zz-fence")).unwrap().set_modified(soon).unwrap();
        let ear = Self { client, inside };
        for path in paths.iter().chain(&["zz-fence"]) {
            let wanted = json!({"uri": ear.uri(path)});
            ear.client.request("resources/subscribe", wanted).await.unwrap();
        }
        assert_eq!(ear.next().await, "zz-fence");
        ear
    }

    /// What is heard of `change`, as paths below `inside`.
    async fn hears(&self, change: impl FnOnce(&Path)) -> BTreeSet<String> {
        change(&self.inside);
        append(&self.inside.join("zz-fence"));
        let mut heard = BTreeSet::new();
        loop {
            let path = self.next().await;
            if path == "zz-fence" {
                return heard;
            }
            heard.insert(path);
        }
    }

    async fn next(&self) -> String {
        let waited = tokio::time::timeout(Duration::from_secs(30), self.client.notification());
        let told = waited.await.expect("a notification in time").expect("a notification");
        assert_eq!(told.method, "notifications/resources/updated");
        let uri = told.params["uri"].as_str().unwrap();
        uri.strip_prefix(&self.uri("")).unwrap().to_owned()
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.inside.display())
    }
}

fn append(path: &Path) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"+").unwrap();
}

/// Files and directories that have just been made might have changed since they were subscribed to.
fn make_old(path: &Path) {
    let Ok(kind) = path.symlink_metadata() else { return };
    if kind.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| make_old(&entry.unwrap().path()));
    }
    if kind.is_dir() || kind.is_file() {
        File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[tokio::test]
async fn every_change_of_what_is_subscribed_to_is_heard_and_no_other() {
    let dir = directory();
    let outside = dir.path().join("secret.txt");
    let paths = ["lines.txt", "folder", "folder/b.txt", "link-inside", "later/new.txt", ".env"];
    let ear = Ear::new(dir.path(), &paths).await;
    let write = |path: &str, text: &str| std::fs::write(ear.inside.join(path), text).unwrap();
    assert_eq!(ear.hears(|_| write("lines.txt", "other")).await, set(&["lines.txt"]));
    let renamed = |inside: &Path| {
        std::fs::write(inside.join("made"), "new").unwrap();
        std::fs::rename(inside.join("made"), inside.join("lines.txt")).unwrap();
    };
    assert_eq!(ear.hears(renamed).await, set(&["lines.txt"]));
    assert_eq!(ear.hears(|_| write("lines.txt", "again")).await, set(&["lines.txt"]));
    // Its contents are those of the link, too; the list of names is the same.
    assert_eq!(
        ear.hears(|_| append(&ear.inside.join("folder/b.txt"))).await,
        set(&["folder/b.txt", "link-inside"])
    );
    assert_eq!(ear.hears(|_| write("folder/c.txt", "")).await, set(&["folder"]));
    let relinked = |inside: &Path| {
        std::fs::remove_file(inside.join("link-inside")).unwrap();
        std::os::unix::fs::symlink("lines.txt", inside.join("link-inside")).unwrap();
    };
    assert_eq!(ear.hears(relinked).await, set(&["link-inside"]));
    assert_eq!(
        ear.hears(|_| append(&ear.inside.join("lines.txt"))).await,
        set(&["lines.txt", "link-inside"])
    );
    // Not there yet, and then there, gone and back.
    let made = |inside: &Path| std::fs::create_dir(inside.join("later")).unwrap();
    assert_eq!(ear.hears(made).await, set(&["later/new.txt"]));
    assert_eq!(ear.hears(|_| write("later/new.txt", "1")).await, set(&["later/new.txt"]));
    let gone = |inside: &Path| std::fs::remove_dir_all(inside.join("later")).unwrap();
    assert_eq!(ear.hears(gone).await, set(&["later/new.txt"]));
    let back = |inside: &Path| {
        std::fs::create_dir(inside.join("later")).unwrap();
        std::fs::write(inside.join("later/new.txt"), "2").unwrap();
    };
    assert_eq!(ear.hears(back).await, set(&["later/new.txt"]));
    // What nobody subscribed to, or nobody may know of.
    let others = |inside: &Path| {
        std::fs::write(inside.join("umlaut.txt"), "other").unwrap();
        std::fs::write(inside.join(".env"), "other secret").unwrap();
        std::fs::write(inside.join("folder/.env"), "other secret").unwrap();
        std::fs::write(&outside, "other secret").unwrap();
        let _read = std::fs::read(inside.join("lines.txt")).unwrap();
    };
    assert_eq!(ear.hears(others).await, set(&[]));
    let uri = json!({"uri": ear.uri("lines.txt")});
    ear.client.request("resources/unsubscribe", uri).await.unwrap();
    assert_eq!(ear.hears(|_| write("lines.txt", "unheard")).await, set(&["link-inside"]));
}

#[tokio::test]
async fn nothing_outside_is_watched() {
    let dir = directory();
    let paths = ["link-out", "link-absolute", "link-up/secret.txt", "../secret.txt", "link-magic"];
    let ear = Ear::new(dir.path(), &paths).await;
    let change = |_: &Path| std::fs::write(dir.path().join("secret.txt"), "other").unwrap();
    assert_eq!(ear.hears(change).await, set(&[]));
}

/// Nobody can tell whether it changed before it was watched, so it is said that it did.
#[tokio::test]
async fn a_change_just_before_watching_is_not_lost() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let uri = format!("file://{}/lines.txt", dir.path().join("inside").display());
    client.request("resources/subscribe", json!({"uri": &uri})).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(30), client.notification()).await;
    assert_eq!(told.unwrap().unwrap().params["uri"], uri);
}

#[tokio::test]
async fn listen_streams_hear_too() {
    let dir = directory();
    let client = connect(dir.path(), Revision::V2026_07_28).await;
    let uri = format!("file://{}/lines.txt", dir.path().join("inside").display());
    let wanted = json!({"notifications": {"resourceSubscriptions": [&uri]}});
    let _listening = client.start("subscriptions/listen", wanted);
    loop {
        let told = tokio::time::timeout(Duration::from_secs(30), client.notification()).await;
        let told = told.expect("in time").expect("a notification");
        if told.method == "notifications/resources/updated" {
            return assert_eq!(told.params["uri"], uri);
        }
    }
}
