//! What a check is, what may come of it, and what it has at hand while it runs.

use crate::case::Case;
use crate::client::Client;
use crate::findings::Findings;
use crate::peer::Peer;
use crate::profile::Profile;
use crate::revision::Revision;
use crate::run::Target;
use crate::schema::Schemas;
use crate::transcript::Transcript;
use crate::transport::{Endpoint, Transport};
use crate::watch::Watch;
use crate::web::peer::Site;
use crate::web::server::HttpServer;
use crate::web::{Ask, Reply};
use serde::Serialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    Must,
    Should,
}

/// One requirement of the specification and how it is shown.
#[derive(Clone, Copy)]
pub struct Check {
    pub id: &'static str,
    pub level: Level,
    pub revisions: &'static [Revision],
    /// The transport it is about; `None` if it can be seen on any.
    pub transport: Option<Transport>,
    pub title: &'static str,
    pub run: Run,
}

impl Check {
    /// The check on one transport only.
    pub(crate) const fn over(self, transport: Transport) -> Check {
        Check { transport: Some(transport), ..self }
    }
}

/// How a requirement is shown.
#[derive(Clone, Copy)]
pub enum Run {
    /// By provoking it.
    Active(fn(&mut Ctx<'_>) -> Verdict),
    /// By bytes in and a shape out, from the case files.
    Case(&'static Case),
    /// By watching everything the other checks cause.
    Observed,
}

/// What came of a check in one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail(String),
    /// Allowed, but not what a careful server does.
    Warn(String),
    Skipped(String),
}

/// `Ok` is a pass; the error is any other outcome, so that `?` ends a check.
pub type Verdict = Result<(), Outcome>;

/// The outcome of a broken requirement.
pub fn fail(why: impl Into<String>) -> Outcome {
    Outcome::Fail(why.into())
}

/// The outcome of a check this server gives no occasion for.
pub fn skip(why: impl Into<String>) -> Outcome {
    Outcome::Skipped(why.into())
}

/// Fails the check unless `holds`.
pub fn ensure(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(fail(why())) }
}

/// What a check has at hand: one server in one revision.
pub struct Ctx<'a> {
    pub revision: Revision,
    pub findings: Findings,
    pub transcript: Transcript,
    target: &'a Target,
    schemas: Option<Arc<Schemas>>,
    shared: Option<Client>,
    capabilities: Option<Value>,
    /// The server all connections over HTTP share.
    site: RefCell<Option<Site>>,
}

impl<'a> Ctx<'a> {
    pub fn new(target: &'a Target, revision: Revision, schemas: Option<Arc<Schemas>>) -> Ctx<'a> {
        Ctx {
            revision,
            findings: Findings::default(),
            transcript: Transcript::default(),
            target,
            schemas,
            shared: None,
            capabilities: None,
            site: RefCell::default(),
        }
    }

    /// The connection that harmless checks share, ready for requests and with an empty inbox.
    pub fn client(&mut self) -> Result<&mut Client, Outcome> {
        let client = match self.shared.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.fresh()?,
        };
        let client = self.shared.insert(client);
        client.take_inbox();
        Ok(client)
    }

    /// A connection of its own, ready for requests.
    pub fn fresh(&self) -> Result<Client, Outcome> {
        let mut client = self.unopened()?;
        client.open()?;
        // Whatever a server may have to say about being opened is no concern of the check.
        client.barrier()?;
        client.take_inbox();
        Ok(client)
    }

    /// A connection of its own on which nothing has been said.
    pub fn unopened(&self) -> Result<Client, Outcome> {
        let peer = match &self.target.endpoint {
            Endpoint::Stdio(command) => Peer::spawn(command, self.transcript.clone())
                .map_err(|error| fail(format!("the server does not start: {error}")))?,
            _ => Peer::Http(self.site()?.connect(self.revision, self.transcript.clone())),
        };
        Ok(self.client_on(peer))
    }

    /// The server over HTTP, started if it does not run.
    pub fn site(&self) -> Result<Site, Outcome> {
        let mut site = self.site.borrow_mut();
        if let Some(site) = site.as_ref().filter(|site| site.server.is_running()) {
            return Ok(site.clone());
        }
        Ok(site.insert(start(&self.target.endpoint)?).clone())
    }

    /// A connection to a process of its own, started with further arguments, nothing said yet.
    pub fn replica(&self, arguments: &[String]) -> Result<Client, Outcome> {
        let endpoint = self.target.endpoint.with(arguments);
        let endpoint = endpoint.ok_or_else(|| skip("the server is not ours to start"))?;
        let peer = match &endpoint {
            Endpoint::Stdio(command) => Peer::spawn(command, self.transcript.clone())
                .map_err(|error| fail(format!("the server does not start: {error}")))?,
            _ => Peer::Http(start(&endpoint)?.connect(self.revision, self.transcript.clone())),
        };
        Ok(self.client_on(peer))
    }

    pub fn transport(&self) -> Transport {
        self.target.endpoint.transport()
    }

    /// Sends one request of HTTP, as it is, and notes what comes of it.
    pub(crate) fn http(&self, ask: &Ask) -> Result<Reply, Outcome> {
        let headers = ask.headers.iter().map(|(name, value)| format!(" {name}: {value};"));
        self.transcript.note(&format!("{} {}{}", ask.method, ask.url, headers.collect::<String>()));
        self.transcript.sent(&ask.body);
        let reply = ask.send()?;
        self.transcript.note(&format!("{} {}", reply.status(), reply.content_type()));
        Ok(reply)
    }

    pub(crate) fn endpoint(&self) -> &'a Endpoint {
        &self.target.endpoint
    }

    /// Whether a server over HTTP has the two paths of 2024-11-05, where that is asked for.
    pub(crate) fn serves_pair(&self) -> Result<bool, Outcome> {
        if self.transport() == Transport::Stdio || self.revision != Revision::V2024_11_05 {
            return Ok(true);
        }
        let reply = Ask::get(self.site()?.server.sse_url()).send()?;
        Ok(reply.status() == 200 && reply.is_stream())
    }

    /// True where a connection is a session, so that a message needs none to be opened before it.
    pub fn is_one_pipe(&self) -> bool {
        self.transport() == Transport::Stdio || self.revision == Revision::V2024_11_05
    }

    /// Closes the shared connection, whose state a failed check may have spoiled.
    pub fn abandon_shared(&mut self) {
        self.shared = None;
    }

    pub fn has_schemas(&self) -> bool {
        self.schemas.is_some()
    }

    pub fn profile(&self) -> Result<&'a Profile, Outcome> {
        self.target
            .profile
            .as_ref()
            .ok_or_else(|| skip("no profile says what to call on this server"))
    }

    /// What the server declares in this revision.
    pub fn capabilities(&mut self) -> Result<Value, Outcome> {
        if self.capabilities.is_none() {
            let declared = self.client()?.watch.capabilities().cloned();
            self.capabilities = Some(declared.unwrap_or_else(|| json!({})));
        }
        Ok(self.capabilities.clone().unwrap_or_default())
    }

    /// Skips the check unless the server declares `path`, such as `resources.subscribe`.
    pub fn need(&mut self, path: &str) -> Verdict {
        let capabilities = self.capabilities()?;
        let declared = path.split('.').fold(&capabilities, |value, key| &value[key]);
        match declared {
            Value::Null | Value::Bool(false) => Err(skip(format!("`{path}` is not declared"))),
            _ => Ok(()),
        }
    }

    fn client_on(&self, peer: Peer) -> Client {
        let watch = Watch::new(self.revision, self.findings.clone(), self.schemas.clone());
        Client::new(peer, watch, self.revision)
    }
}

/// A server over HTTP, started or found.
pub(crate) fn start(endpoint: &Endpoint) -> Result<Site, Outcome> {
    match endpoint {
        Endpoint::Url(url) => Ok(Site::new(HttpServer::running(url))),
        Endpoint::Http(command) | Endpoint::Stdio(command) => HttpServer::spawn(command)
            .map(Site::new)
            .map_err(|error| fail(format!("the server does not start: {error}"))),
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
        })
    }
}

impl Outcome {
    /// The word the reports use.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail(_) => "fail",
            Outcome::Warn(_) => "warn",
            Outcome::Skipped(_) => "skipped",
        }
    }

    pub fn detail(&self) -> &str {
        match self {
            Outcome::Pass => "",
            Outcome::Fail(why) | Outcome::Warn(why) | Outcome::Skipped(why) => why,
        }
    }
}
