//! A client that puts its requests of HTTP together by hand, for the checks of what a proper one
//! would never send.

use crate::check::{Ctx, Outcome, ensure, fail, skip};
use crate::client::call;
use crate::clock::{Instant, PATIENCE};
use crate::revision::{self, Revision};
use crate::web::events::Event;
use crate::web::{Ask, Reply, parsed, routing};
use reqwest::Method;
use serde_json::{Value, json};

pub(super) struct Raw {
    pub(super) url: String,
    pub(super) session: Option<String>,
    version: Option<&'static str>,
    /// What goes with every request besides.
    beside: Vec<(String, String)>,
}

impl Raw {
    /// A session, or in the newest revision a client that needs none.
    pub(super) fn open(ctx: &Ctx<'_>) -> Result<Raw, Outcome> {
        let site = ctx.site()?;
        Raw::open_at(ctx, site.server.url(), &[])
    }

    /// The same at another server, with more headers.
    pub(super) fn open_at(
        ctx: &Ctx<'_>,
        url: &str,
        beside: &[(&str, &str)],
    ) -> Result<Raw, Outcome> {
        let beside = beside.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (url, beside) = (url.to_owned(), beside.collect());
        let mut raw = Raw { url, session: None, version: None, beside };
        if ctx.revision.is_modern() {
            return Ok(raw);
        }
        let params = revision::initialize_params(ctx.revision.date());
        let reply = ctx.http(&raw.ask(ctx, &call(Some(json!(1)), "initialize", Some(params))))?;
        raw.session = reply.header("mcp-session-id");
        let answer = reply.message()?;
        ensure(answer.get("result").is_some(), || format!("initialize was answered {answer}"))?;
        raw.version = (ctx.revision >= Revision::V2025_06_18).then_some(ctx.revision.date());
        ctx.http(&raw.ask(ctx, &call(None, "notifications/initialized", None)))?;
        Ok(raw)
    }

    /// A session of a server that has sessions.
    pub(super) fn open_session(ctx: &Ctx<'_>) -> Result<Raw, Outcome> {
        let raw = Raw::open(ctx)?;
        if raw.session.is_none() {
            return Err(skip("the server has no sessions"));
        }
        Ok(raw)
    }

    /// A message of this client, with the headers it needs.
    pub(super) fn ask(&self, ctx: &Ctx<'_>, message: &Value) -> Ask {
        self.dressed(ctx, Ask::post(&self.url, message), message)
    }

    pub(super) fn request(&self, ctx: &Ctx<'_>, id: u64, method: &str, params: Value) -> Ask {
        let params = ctx.revision.envelope(params);
        self.ask(ctx, &call(Some(json!(id)), method, params))
    }

    pub(super) fn harmless(&self, ctx: &Ctx<'_>, id: u64) -> Ask {
        self.request(ctx, id, ctx.revision.harmless_method(), Value::Null)
    }

    pub(super) fn get(&self, ctx: &Ctx<'_>) -> Ask {
        self.dressed(ctx, Ask::get(&self.url), &Value::Null)
    }

    pub(super) fn delete(&self, ctx: &Ctx<'_>) -> Ask {
        self.dressed(ctx, Ask::new(Method::DELETE, &self.url), &Value::Null)
    }

    fn dressed(&self, ctx: &Ctx<'_>, mut ask: Ask, message: &Value) -> Ask {
        let version = self.version.map(str::to_owned);
        let session = routing::Session { id: self.session.clone(), version };
        let none = routing::Parameters::default();
        for (name, value) in routing::headers(ctx.revision, &session, &none, message) {
            ask = ask.with(&name, &value);
        }
        self.beside.iter().fold(ask, |ask, (name, value)| ask.with(name, value))
    }
}

/// The status of a request.
pub(super) fn status(ctx: &Ctx<'_>, ask: &Ask) -> Result<u16, Outcome> {
    Ok(ctx.http(ask)?.status())
}

/// The error code in the body of a response.
pub(super) fn code(reply: Reply) -> Result<Value, Outcome> {
    Ok(reply.message()?["error"]["code"].take())
}

/// The events up to the first that `wanted` accepts.
pub(super) fn until(
    reply: &mut Reply,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Vec<Event>, Outcome> {
    let deadline = Instant::now() + PATIENCE;
    let mut events = Vec::new();
    while let Some(event) = reply.event(deadline) {
        let message = parsed(&event);
        events.push(event);
        if wanted(&message) {
            return Ok(events);
        }
    }
    Err(fail(format!("the stream ends without {what}")))
}
