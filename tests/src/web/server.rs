//! A server that speaks HTTP: a process of ours that has said where it listens, or a URL.

use crate::clock::{self, Instant, PATIENCE};
use crate::pipes::{resident_kib, start_stderr, text};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

/// Dropping it ends the process, if it is ours.
pub struct HttpServer {
    url: String,
    process: Option<Process>,
}

struct Process {
    child: Mutex<Child>,
    id: u32,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl HttpServer {
    /// Starts `command` and waits for the line that says where it listens.
    pub fn spawn(command: &[String]) -> io::Result<HttpServer> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty command"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let process =
            Process { id: child.id(), child: Mutex::new(child), stderr: start_stderr(stderr) };
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Only the first is waited for; the others must not block the server.
                let _ = sender.send(line);
            }
        });
        let line = clock::receive(&lines, Instant::now() + PATIENCE).map_err(|_| {
            io::Error::other(format!("it does not say where it listens: {}", text(&process.stderr)))
        })?;
        Ok(HttpServer { url: line.trim().to_owned(), process: Some(process) })
    }

    /// A server somebody else has started.
    pub fn running(url: &str) -> HttpServer {
        HttpServer { url: url.to_owned(), process: None }
    }

    /// The endpoint of Streamable HTTP.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another path of the same server.
    pub fn sibling(&self, path: &str) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("http", &self.url));
        let host = rest.split('/').next().unwrap_or_default();
        format!("{scheme}://{host}{path}")
    }

    /// Where 2024-11-05 begins: the URL itself if it says so, else beside it.
    pub fn sse_url(&self) -> String {
        if self.url.ends_with("/sse") {
            return self.url.clone();
        }
        match self.url.rsplit_once('/') {
            Some((parent, _)) if parent.contains("://") && !parent.ends_with('/') => {
                format!("{parent}/sse")
            }
            _ => self.sibling("/sse"),
        }
    }

    /// Whether it can only be reached from this machine.
    pub fn is_local(&self) -> bool {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        ["127.", "localhost", "[::1]"].iter().any(|local| rest.starts_with(local))
    }

    pub fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    /// Whether it still runs, as far as can be known.
    pub fn is_running(&self) -> bool {
        let Some(process) = &self.process else { return true };
        let mut child = process.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        matches!(child.try_wait(), Ok(None))
    }

    /// Tells the process to stop, as an operator does.
    pub fn terminate(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let told = Command::new("kill").args(["-TERM", &process.id.to_string()]).status();
        told.is_ok_and(|status| status.success())
    }

    pub fn resident_kib(&self) -> Option<u64> {
        self.process.as_ref().and_then(|process| resident_kib(process.id))
    }

    /// How many files and connections the process has open, where the system tells it (Linux).
    pub fn descriptors(&self) -> Option<usize> {
        let process = self.process.as_ref()?;
        Some(std::fs::read_dir(format!("/proc/{}/fd", process.id)).ok()?.count())
    }

    pub fn stderr(&self) -> String {
        self.process.as_ref().map(|process| text(&process.stderr)).unwrap_or_default()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let Some(process) = &self.process else { return };
        let mut child = process.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = child.kill();
        let _ = child.wait();
    }
}
