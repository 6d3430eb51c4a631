//! Three replicas behind an ordinary balancer that sends each request to the next: in 2026-07-28
//! nothing depends on which of them answers. Runs where nginx is installed.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use workspace_tests::clock::{Instant, PATIENCE};
use workspace_tests::official::{HttpServer, Suite};
use workspace_tests::revision::Revision;

use crate::built;

/// 32 bytes, for this test alone.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Scenarios of the extension whose tasks live in the replica that began them; the set itself does
/// not hold them.
const OF_ONE_REPLICA: &str = "tasks-";

#[test]
fn the_set_of_2026_passes_whichever_replica_answers() {
    let Some(nginx) = nginx() else { return };
    let folder = tempfile::tempdir().unwrap();
    let replicas = replicas(folder.path());
    let balancer = Balancer::start(&nginx, folder.path(), &replicas);
    let suite = Suite::install(&built::target_folder().join("official-suite"));
    let Ok(suite) = suite else {
        eprintln!("skipped: {:#}", suite.unwrap_err());
        return;
    };
    let url = format!("http://localhost:{}/mcp", balancer.port);
    let rows = suite.run_requirements("balanced", &url, Revision::V2026_07_28).unwrap();
    let red: Vec<_> = rows
        .iter()
        .filter(|row| row.is_red() && !row.title.starts_with(OF_ONE_REPLICA))
        .map(|row| row.line())
        .collect();
    assert!(red.is_empty(), "{}", red.join("\n"));
    assert!(rows.len() > 100, "{} checks", rows.len());
}

#[test]
fn a_replica_that_dies_takes_only_its_own_requests_along() {
    let Some(nginx) = nginx() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut replicas = replicas(folder.path());
    let balancer = Balancer::start(&nginx, folder.path(), &replicas);
    let url = format!("http://localhost:{}/mcp", balancer.port);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (answered, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    runtime.block_on(async {
        let client = workspace_tests::web::http_client().build().unwrap();
        // Each takes a tenth of a second, so that some are under way on each replica.
        let calls = (0..30).map(|_| call(&client, &url));
        let kill = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            replicas.pop();
        };
        let (results, ()) = tokio::join!(join_all(calls), kill);
        for is_right in results {
            let counter = if is_right { &answered } else { &failed };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let (answered, failed) = (answered.into_inner(), failed.into_inner());
        assert!(answered >= 20, "{answered} of 30, with a third of the replicas gone");
        assert!(failed > 0, "none was under way on the replica that was killed");
        // Whoever comes later is served by those that are left.
        for _ in 0..6 {
            assert!(call(&client, &url).await);
        }
    });
}

async fn join_all(calls: impl Iterator<Item = impl Future<Output = bool>>) -> Vec<bool> {
    let mut pending: Vec<_> = calls.map(Box::pin).collect();
    let mut results: Vec<Option<bool>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, result) in pending.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(done) = call.as_mut().poll(context)
            {
                *result = Some(done);
            }
        }
        match results.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    results.into_iter().flatten().collect()
}

async fn call(client: &reqwest::Client, url: &str) -> bool {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "test_tool_with_progress")
        .body(body.to_string());
    match request.send().await {
        Ok(reply) => reply.text().await.is_ok_and(|text| text.contains("The work is done.")),
        Err(_) => false,
    }
}

fn nginx() -> Option<PathBuf> {
    let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
    let found = places.iter().map(Path::new).find(|place| place.is_file());
    if found.is_none() {
        eprintln!("skipped: this test needs nginx");
    }
    found.map(Path::to_owned)
}

fn replicas(folder: &Path) -> Vec<HttpServer> {
    let key = folder.join("key");
    fs::write(&key, KEY).unwrap();
    let program = built::binary("mcp-everything");
    let flags = ["--state-key-file", key.to_str().unwrap(), "--log", "off"];
    (0..3).map(|_| HttpServer::start(&program, &flags).unwrap()).collect()
}

struct Balancer {
    child: Child,
    port: u16,
}

impl Balancer {
    fn start(nginx: &Path, folder: &Path, replicas: &[HttpServer]) -> Balancer {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = |replica: &HttpServer| {
            let port = replica.url.rsplit(':').next().unwrap().trim_end_matches("/mcp");
            format!("server 127.0.0.1:{port} max_fails=1 fail_timeout=30s;")
        };
        let upstream: Vec<_> = replicas.iter().map(address).collect();
        let folder = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
            .join(" ");
        let configuration = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
             events {{ worker_connections 512; }}
             http {{
               access_log off; {temporary}
               upstream replicas {{ {upstream} }}
               server {{
                 listen 127.0.0.1:{port};
                 location / {{
                   proxy_pass http://replicas; proxy_http_version 1.1; proxy_buffering off;
                   proxy_set_header Host $http_host; proxy_set_header Connection '';
                   proxy_next_upstream error; proxy_read_timeout 60s;
                 }}
               }}
             }}",
            upstream = upstream.join(" ")
        );
        let path = format!("{folder}/nginx.conf");
        fs::write(&path, configuration).unwrap();
        let child = Command::new(nginx)
            .args(["-c", &path, "-e", &format!("{folder}/error.log")])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let balancer = Balancer { child, port };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not start");
            thread::sleep(Duration::from_millis(10));
        }
        balancer
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
