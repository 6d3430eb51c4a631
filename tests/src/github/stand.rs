//! The emulator as a process, installed below the target folder when it is first needed. Where Node
//! is missing there is no stand, and whoever wanted it says so and goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use serde_json::Value;

use super::message::Message;
use super::proxy::Proxy;
use crate::clock::Instant;
use crate::install::node_packages;

/// The token of the seeded user.
pub const TOKEN: &str = "test_token_admin";
const START_PATIENCE: Duration = Duration::from_secs(60);
/// It ends when its input does, and so with whoever started it, however that ends.
const KEEPER: &str = "data:text/javascript,process.stdin.resume().on('end',()=>process.exit())";

/// A running emulator and the proxy in front of it. Dropping it ends the emulator.
pub struct Stand {
    emulator: Child,
    address: SocketAddr,
    /// What the server under test talks to.
    pub proxy: Proxy,
}

impl Stand {
    /// `None` without Node.
    ///
    /// # Errors
    /// If the emulator cannot be installed or does not start.
    pub fn start(target_folder: &Path) -> Result<Option<Self>> {
        let seed = sources().join("seed.yaml");
        Self::start_with(target_folder, &seed)
    }

    /// The same with another seed file.
    ///
    /// # Errors
    /// As [`Stand::start`].
    pub fn start_with(target_folder: &Path, seed: &Path) -> Result<Option<Self>> {
        let folder = target_folder.join("github-stand");
        let Some(folder) = node_packages(&sources(), &folder)? else { return Ok(None) };
        // A free port that stays free until the emulator has it, most likely.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut emulator = Command::new("node")
            .args(["--import", KEEPER])
            .arg(folder.join("node_modules/emulate/dist/index.js"))
            .args(["start", "--service", "github", "--seed"])
            .arg(seed)
            .args(["--port", &address.port().to_string()])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = emulator.stdout.take().context("its output is piped")?;
        // Read on, so that it never waits for us.
        std::thread::spawn(move || {
            BufReader::new(said).lines().map_while(Result::ok).for_each(drop);
        });
        let mut stand = Self { emulator, address, proxy: Proxy::start(address)? };
        stand.wait_until_ready()?;
        Ok(Some(stand))
    }

    /// Where the emulator itself listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the emulator itself, past the proxy: to fill it, and to see what it holds.
    ///
    /// # Errors
    /// If it does not answer with JSON.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        // An answer to HTTP/1.0 comes in one piece and ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        let answer = Message::whole(bytes).context("an answer without a head")?;
        serde_json::from_slice(answer.body())
            .with_context(|| format!("{method} {path}: {}", answer.first_line()))
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.emulator.try_wait()? {
                bail!("the emulator ended: {status}");
            }
            if started.elapsed() > START_PATIENCE {
                bail!("the emulator does not listen");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

/// The pinned packages and the seed.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("github/npm")
}
