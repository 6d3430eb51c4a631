//! How databases are reached: passwords, sockets, encryption, poolers, and what is said when they
//! are not.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use mcp::Revision;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::cluster::Cluster;
use super::{FIXTURE, connect, refusal, result, run, value};

/// Every character that means something in a URL.
const PASSWORD: &str = "p@ss:w/r?d#%40 &=é";

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// A cluster whose `pg_hba.conf` begins with these lines.
async fn cluster(rules: &str) -> (Cluster, PgConnection) {
    let cluster = Cluster::start("shop", FIXTURE).unwrap();
    let file = cluster.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&file).unwrap();
    let mut admin = PgConnection::connect(&cluster.url("shop")).await.unwrap();
    fs::write(&file, format!("{rules}\n{old}")).unwrap();
    let sql = format!(
        "CREATE ROLE secret LOGIN PASSWORD '{PASSWORD}'; CREATE ROLE \"odd @/:role\" LOGIN;
        CREATE DATABASE \"odd /db?\"; SELECT pg_reload_conf()"
    );
    for statement in sql.split(';') {
        run(&mut admin, statement).await;
    }
    // The postmaster reads its files a moment after it was told to.
    let rules = "SELECT count(*)::text FROM pg_hba_file_rules WHERE user_name = '{secret}'";
    while value(&mut admin, rules).await.as_deref() == Some("0") {}
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    (cluster, admin)
}

async fn checked(arguments: &[&str]) -> Value {
    let client = connect(arguments, Revision::V2025_11_25).await;
    let found = result(&client, "list_databases", json!({"check": true})).await;
    found["checks"][0].clone()
}

#[tokio::test]
async fn passwords_sockets_and_odd_names_are_taken() {
    if std::env::var_os("TEST_DATABASE_URL").is_some() {
        return;
    }
    let (cluster, _admin) = cluster("host all secret 127.0.0.1/32 scram-sha-256").await;
    let port = cluster.port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let file = file.display().to_string();
    let socket = encoded(&cluster.folder().display().to_string());
    let encoded_password = encoded(PASSWORD);
    for (arguments, user) in [
        (vec![format!("postgres://secret:{encoded_password}@127.0.0.1:{port}/shop")], "secret"),
        (
            vec![
                format!("postgres://secret@127.0.0.1:{port}/shop"),
                format!("--password-file={file}"),
            ],
            "secret",
        ),
        (
            vec![format!(
                "x=postgres://127.0.0.1:{port}/shop?user=secret&password={encoded_password}"
            )],
            "secret",
        ),
        (vec![format!("postgres://shop_app@{socket}:{port}/shop")], "shop_app"),
        (vec![format!("postgres://shop_app@localhost:{port}/shop?host={socket}")], "shop_app"),
        (
            vec![format!(
                "postgresql://{}@127.0.0.1:{port}/{}",
                encoded("odd @/:role"),
                encoded("odd /db?")
            )],
            "odd @/:role",
        ),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let client = connect(&arguments, Revision::V2025_11_25).await;
        let who = result(&client, "query", json!({"sql": "SELECT session_user::text"})).await;
        assert_eq!(who["rows"], json!([[user]]), "{arguments:?}");
    }
    // A password in the URL comes before the file's, and a wrong one is not shown.
    let wrong = format!("postgres://secret:wr0ng@127.0.0.1:{port}/shop");
    let arguments = [wrong.as_str(), "--password-file", &file];
    let client = connect(&arguments, Revision::V2025_11_25).await;
    let text = refusal(&client, "query", json!({"sql": "SELECT 1"})).await;
    assert!(
        text.contains("the password was refused") && text.contains("--password-file"),
        "{text}"
    );
    assert!(!text.contains("wr0ng"), "{text}");
}

#[tokio::test]
async fn what_is_in_the_way_is_told_with_what_mends_it() {
    if std::env::var_os("TEST_DATABASE_URL").is_some() {
        return;
    }
    let (cluster, mut admin) = cluster(
        "host all secret 127.0.0.1/32 scram-sha-256\nhost all shop_reader 127.0.0.1/32 reject",
    )
    .await;
    run(&mut admin, "REVOKE CONNECT ON DATABASE shop FROM PUBLIC").await;
    run(&mut admin, "CREATE ROLE full LOGIN CONNECTION LIMIT 0").await;
    run(&mut admin, "GRANT CONNECT ON DATABASE shop TO \"full\"").await;
    let port = cluster.port();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().map(|address| (silent, address.port())).unwrap();
    for (url, stage, problem, fix) in [
        (format!("postgres@127.0.0.1:{port}/shop"), "done", "", ""),
        ("postgres@no-such-host.invalid/shop".into(), "name", "not found", "correct the host"),
        ("postgres@127.0.0.1:1/shop".into(), "tcp", "nothing listens", "start the server"),
        (format!("postgres@127.0.0.1:{}/shop", silent.1), "tcp", "no answer", "firewalls"),
        ("postgres@%2Fno%2Fsuch/shop".into(), "socket", "socket is not there", "start the server"),
        (format!("postgres@127.0.0.1:{port}/shop?sslmode=require"), "tls", "encrypted", "sslmode"),
        (format!("secret:x@127.0.0.1:{port}/shop"), "login", "password was refused", "PGPASSWORD"),
        (format!("nobody@127.0.0.1:{port}/shop"), "login", "does not let this role in", "LOGIN"),
        (
            format!("shop_reader@127.0.0.1:{port}/shop"),
            "login",
            "encrypted connections only",
            "pg_hba.conf",
        ),
        (format!("postgres@127.0.0.1:{port}/none"), "login", "no such database", "name in the URL"),
        (format!("shop_app@127.0.0.1:{port}/shop"), "login", "may not connect", "GRANT CONNECT"),
        (
            format!("full@127.0.0.1:{port}/shop"),
            "login",
            "no connection to spare",
            "CONNECTION LIMIT",
        ),
    ] {
        let found = checked(&[&format!("x=postgres://{url}"), "--connect-timeout-secs", "1"]).await;
        assert_eq!(
            (&found["name"], &found["stage"]),
            (&json!("x"), &json!(stage)),
            "{url}: {found}"
        );
        assert_eq!(found["reachable"], stage == "done", "{url}");
        for (key, wanted) in [("problem", problem), ("fix", fix)] {
            let said = found[key].as_str().unwrap_or_default();
            assert!(said.contains(wanted), "{url}: {found}");
        }
        assert!(found["elapsed_ms"].as_f64().unwrap() < 3500.0, "{url}: {found}");
    }
}

/// Runs `openssl` with these words.
fn openssl(folder: &Path, words: &str) -> bool {
    let mut command = Command::new("openssl");
    let done =
        command.args(words.split_whitespace()).current_dir(folder).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// An authority and a certificate of it for 127.0.0.1; `false` without openssl.
fn certificates(folder: &Path) -> bool {
    fs::write(folder.join("san"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        .unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let signed = "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2";
    openssl(folder, &format!("req -x509 {key} -days 2 -subj /CN=ca -keyout ca.key -out ca.crt"))
        && openssl(
            folder,
            &format!("req {key} -subj /CN=server -keyout server.key -out server.csr"),
        )
        && openssl(folder, &format!("{signed} -extfile san -out server.crt"))
}

#[tokio::test]
async fn encryption_follows_sslmode() {
    if std::env::var_os("TEST_DATABASE_URL").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(certificates(folder.path()), "install openssl");
    let (cluster, mut admin) = cluster("hostssl all secret all scram-sha-256").await;
    let data = cluster.folder().join("data");
    let owner = fs::metadata(&data).unwrap();
    for name in ["server.key", "server.crt"] {
        fs::copy(folder.path().join(name), data.join(name)).unwrap();
        fs::set_permissions(data.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        if fs::metadata(data.join(name)).unwrap().uid() != owner.uid() {
            chown(data.join(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        }
    }
    run(&mut admin, "ALTER SYSTEM SET ssl = on").await;
    run(&mut admin, "SELECT pg_reload_conf()").await;
    let port = cluster.port();
    let root = folder.path().join("ca.crt").display().to_string();
    let stranger = folder.path().join("stranger");
    fs::create_dir(&stranger).unwrap();
    assert!(certificates(&stranger));
    let stranger = stranger.join("ca.crt").display().to_string();
    // The postmaster takes a moment.
    let prefer = format!("postgres://postgres@127.0.0.1:{port}/shop?sslmode=prefer");
    while checked(&[&prefer]).await["encrypted"] != json!(true) {}
    for (host, mode, encrypted) in [
        ("127.0.0.1", "disable".to_owned(), Some(false)),
        ("127.0.0.1", "prefer".to_owned(), Some(true)),
        ("127.0.0.1", "require".to_owned(), Some(true)),
        ("127.0.0.1", format!("verify-ca&sslrootcert={root}"), Some(true)),
        ("127.0.0.1", format!("verify-full&sslrootcert={root}"), Some(true)),
        ("localhost", format!("verify-ca&sslrootcert={root}"), Some(true)),
        ("localhost", format!("verify-full&sslrootcert={root}"), None),
        ("127.0.0.1", format!("verify-ca&sslrootcert={stranger}"), None),
        ("127.0.0.1", format!("verify-full&sslrootcert={stranger}"), None),
    ] {
        let url = format!("postgres://postgres@{host}:{port}/shop?sslmode={mode}");
        let found = checked(&[&url]).await;
        match encrypted {
            Some(encrypted) => assert_eq!(found["encrypted"], encrypted, "{url}: {found}"),
            None => assert_eq!(found["stage"], "tls", "{url}: {found}"),
        }
    }
    let password = encoded(PASSWORD);
    let plain = format!("postgres://secret:{password}@127.0.0.1:{port}/shop?sslmode=require");
    assert_eq!(checked(&[&plain]).await["reachable"], true);
}

/// PgBouncer before the cluster, in transaction mode with one connection, so that every transaction
/// of everybody meets what the last has left.
struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    fn before(port: u16) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"];
        let program = program.iter().find(|program| Path::new(program).is_file())?;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let users = folder.path().join("users");
        fs::write(&users, "\"postgres\" \"\"\n\"shop_app\" \"\"\n").unwrap();
        let settings = format!(
            "[databases]\nshop = host=127.0.0.1 port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {free}\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 1\nunix_socket_dir =\n",
            users.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        if fs::metadata("/proc/self").map_or(1, |process| process.uid()) == 0 {
            std::os::unix::process::CommandExt::uid(&mut command, 65534);
        }
        let child = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Some(Self { child, port: free, _folder: folder })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_pooler_between_is_seen_and_does_no_harm() {
    if std::env::var_os("TEST_DATABASE_URL").is_some() {
        return;
    }
    let (cluster, mut admin) = cluster("host all secret 127.0.0.1/32 scram-sha-256").await;
    let direct = format!("postgres://postgres@127.0.0.1:{}/shop", cluster.port());
    assert_eq!(checked(&[&direct]).await["pooler"], false);
    // It is packaged by itself; continuous integration installs it.
    let Some(pooler) = Pooler::before(cluster.port()) else { return };
    let url = format!("postgres://shop_app@127.0.0.1:{}/shop", pooler.port);
    while checked(&[&url]).await["reachable"] != json!(true) {}
    assert_eq!(checked(&[&url]).await["pooler"], true);
    let client = connect(&[&url, "--max-connections", "4"], Revision::V2025_11_25).await;
    for _ in 0..5 {
        let sql = "SELECT name FROM customer WHERE id = $1";
        let found = result(&client, "query", json!({"sql": sql, "params": [1]})).await;
        assert_eq!(found["rows"], json!([["Ada"]]));
        let none =
            result(&client, "query", json!({"sql": "SELECT * FROM customer WHERE id < 0"})).await;
        assert_eq!(none["columns"][0]["name"], "id");
        refusal(&client, "query", json!({"sql": "SELECT 1/0"})).await;
        refusal(&client, "query", json!({"sql": "COMMIT; DELETE FROM customer"})).await;
        result(&client, "describe_table", json!({"table": "customer"})).await;
        // What the transactions set is not left for others of the pooler.
        let left =
            "SELECT current_setting('transaction_read_only'), current_setting('statement_timeout'),
            current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements)";
        let found = result(&client, "query", json!({"sql": left})).await;
        assert_eq!(found["rows"][0][0], "on");
        let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
        let options = options.extra_float_digits(None);
        let mut other = PgConnection::connect_with(&options).await.unwrap();
        let settings = "SELECT current_setting('transaction_read_only') || current_setting('statement_timeout')
            || current_setting('TimeZone') || (SELECT count(*) FROM pg_cursors)";
        let direct = value(&mut other, settings).await.unwrap();
        assert!(direct.starts_with("off0"), "{direct}");
    }
    // A cancelled query is the right one, and gone.
    let call = json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}});
    let call = client.start("tools/call", call);
    let asleep = "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while value(&mut admin, asleep).await.as_deref() != Some("1") {}
    call.cancel();
    let since = std::time::Instant::now();
    while value(&mut admin, asleep).await.as_deref() != Some("0") {
        assert!(since.elapsed().as_secs() < 20, "still asleep");
    }
    let works = result(&client, "query", json!({"sql": "SELECT 1"})).await;
    assert_eq!(works["rows"], json!([[1]]));
}
