//! The PostgreSQL server as a process: however a query ends to be wanted, it is gone from the
//! database at once. And its throw-away database is described once for the server's own tests,
//! which must run in a copied folder too, and once for the demo and the conformance checks.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use workspace_tests::cluster::Cluster;
use workspace_tests::web::server::HttpServer;

use crate::built::{binary, workspace};
use crate::policies::running::Running;

/// Rounds of each way. With `MCP_CANCEL_ROUNDS`, for example 100, they are measured: on a quiet
/// machine most queries are gone `AT_ONCE`, counted from the end of the call.
const ROUNDS: usize = 5;
const AT_ONCE: Duration = Duration::from_millis(50);
/// On a busy machine: well before PostgreSQL notices by itself.
const SOON: Duration = Duration::from_millis(600);
/// In every round: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server's own role does not see what others do.
const ASLEEP: &str = "CREATE FUNCTION asleep() RETURNS integer LANGUAGE sql SECURITY DEFINER
    AS $$ SELECT count(*)::integer FROM pg_stat_activity WHERE wait_event = 'PgSleep' $$";

#[test]
fn both_descriptions_of_the_database_are_the_same() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let own = read("crates/postgres/src/tests/cluster.rs");
    assert!(own == read("tests/src/cluster.rs"), "copy crates/postgres/src/tests/cluster.rs");
}

#[test]
fn no_query_outlives_its_call() {
    let measured = std::env::var("MCP_CANCEL_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (rounds, soon) = measured.map_or((ROUNDS, SOON), |rounds| (rounds, AT_ONCE));
    let cluster = Cluster::start("sleepers", ASLEEP).unwrap();
    let mut rig = Rig { url: cluster.url("sleepers"), watcher: None };
    type Way = fn(&mut Rig, usize) -> Vec<Duration>;
    let ways: [(&str, Way); 6] = [
        ("cancelled", cancelled),
        ("disconnected", disconnected),
        ("timed out", timed_out),
        ("end of input", |rig, rounds| ended(rig, rounds, |server| drop(server.close()))),
        ("terminated", |rig, rounds| ended(rig, rounds, |server| drop(server.terminate()))),
        ("killed", |rig, rounds| ended(rig, rounds.div_ceil(5), drop)),
    ];
    for (name, way) in ways {
        let mut took = way(&mut rig, rounds);
        took.sort();
        let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
        println!("{name}: {} rounds, median {median:.1?}, longest {longest:.1?}", took.len());
        // Some of a few rounds a busy machine may spoil; not most of many.
        let usual = if measured.is_some() { median } else { took[took.len() / 4] };
        // Of a server that was killed, PostgreSQL notices within a second by itself.
        let allowed = if name == "killed" { Duration::from_secs(5) } else { soon };
        assert!(usual <= allowed, "{name}: {took:?}");
        assert_eq!(rig.sleeping(), 0, "{name}");
    }
}

/// As psql takes them: from the environment, and from a file only its owner may read.
#[test]
fn passwords_come_from_where_psql_looks_for_them() {
    let guest = "CREATE ROLE guest LOGIN PASSWORD 'wonder: land\\'";
    let mut cluster = Cluster::start("guests", guest).unwrap();
    let rules = "host all guest 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    fs::write(cluster.folder().join("data/pg_hba.conf"), rules).unwrap();
    cluster.restart().unwrap();
    let file = cluster.folder().join("pgpass");
    let line = format!("127.0.0.1:{}:*:guest:wonder\\: land\\\\\n", cluster.port());
    fs::write(&file, line).unwrap();
    let readable = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let file = format!("PGPASSFILE={}", file.display());
    for (variable, mode, works) in [
        ("PGPASSWORD=wonder: land\\", 0o600, true),
        (file.as_str(), 0o600, true),
        (file.as_str(), 0o644, false),
        ("PGPASSWORD=wr0ng", 0o600, false),
    ] {
        readable(mode);
        let url = cluster.url_as("guest", "guests");
        let program = binary("mcp-postgres").display().to_string();
        let mut server = Running::spawn(&["env".to_owned(), variable.to_owned(), program, url]);
        server.initialize();
        let who = json!({"name": "query", "arguments": {"sql": "SELECT session_user::text"}});
        let answer = server.call(&who).to_string();
        let right = if works { "[[\"guest\"]]" } else { "PGPASSFILE" };
        assert!(answer.contains(right) && !answer.contains("wr0ng"), "{variable}: {answer}");
    }
}

struct Rig {
    url: String,
    watcher: Option<Running>,
}

fn sleep_call() -> Value {
    json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}})
}

impl Rig {
    fn command(&self, flags: &[&str]) -> Vec<String> {
        let program = binary("mcp-postgres").display().to_string();
        let timeout = ["--statement-timeout-secs", "600"];
        let flags = timeout.iter().chain(flags).map(|flag| (*flag).to_owned());
        [program, self.url.clone()].into_iter().chain(flags).collect()
    }

    fn start(&self, flags: &[&str]) -> Running {
        let mut server = Running::spawn(&self.command(flags));
        server.initialize();
        server
    }

    /// How many queries sleep in the database now.
    fn sleeping(&mut self) -> u64 {
        let sql = "SELECT asleep()";
        let call = json!({"name": "query", "arguments": {"sql": sql}});
        let started = self.start_watcher();
        let watcher = self.watcher.get_or_insert_with(|| started.unwrap());
        let answer = watcher.call(&call);
        answer.pointer("/result/structuredContent/rows/0/0").unwrap().as_u64().unwrap()
    }

    fn start_watcher(&self) -> Option<Running> {
        self.watcher.is_none().then(|| self.start(&[]))
    }

    /// Waits until as many sleep; gives how long that took.
    fn until(&mut self, wanted: u64) -> Duration {
        let since = Instant::now();
        while self.sleeping() != wanted {
            assert!(since.elapsed() < PATIENCE, "not {wanted} queries asleep");
        }
        since.elapsed()
    }
}

fn cancelled(rig: &mut Rig, rounds: usize) -> Vec<Duration> {
    let mut server = rig.start(&[]);
    let round = |_| {
        let id = server.request("tools/call", &sleep_call());
        rig.until(1);
        server.cancel(id);
        rig.until(0)
    };
    (0..rounds).map(round).collect()
}

/// Over HTTP, in 2026-07-28, where the end of the connection is the end of the request.
fn disconnected(rig: &mut Rig, rounds: usize) -> Vec<Duration> {
    let server = HttpServer::spawn(&rig.command(&["--http", "127.0.0.1:0"])).unwrap();
    let address = server.sibling("").replace("http://", "");
    let mut params = sleep_call();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "gone", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let path = server.url().replace("http://", "").replace(&address, "");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: query\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let round = |_| {
        let mut socket = TcpStream::connect(&address).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        rig.until(1);
        drop(socket);
        rig.until(0)
    };
    (0..rounds).map(round).collect()
}

/// Several at a time, because each takes a second.
fn timed_out(rig: &mut Rig, rounds: usize) -> Vec<Duration> {
    const TOGETHER: usize = 5;
    let mut server = rig.start(&["--timeout-secs", "1"]);
    let round = |_| {
        let ids = server.requests("tools/call", &vec![sleep_call(); TOGETHER]);
        rig.until(TOGETHER as u64);
        for id in ids {
            let answer = server.answer(id);
            assert!(answer.to_string().contains("Stopped after 1 s"), "{answer}");
        }
        vec![rig.until(0); TOGETHER]
    };
    (0..rounds.div_ceil(TOGETHER)).flat_map(round).collect()
}

/// The process ends, with no time for calls to go on.
fn ended(rig: &mut Rig, rounds: usize, end: fn(Running)) -> Vec<Duration> {
    let round = |_| {
        let mut server = rig.start(&["--drain-secs", "0"]);
        server.request("tools/call", &sleep_call());
        rig.until(1);
        let since = Instant::now();
        end(server);
        rig.until(0);
        since.elapsed()
    };
    (0..rounds).map(round).collect()
}
