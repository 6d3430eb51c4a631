//! Tokens that an authorization server has issued: a server of ours, started once more, asks the
//! engine about each token it is brought (RFC 7662), and the engine has good ones and others.

use crate::check::{Check, Ctx, Outcome, Verdict, ensure, fail, skip, start};
use crate::checks::auth::{challenge, is_challenged};
use crate::checks::http_raw::Raw;
use crate::checks::must;
use crate::checks::secret::SecretFile;
use crate::profile::told;
use crate::revision::{SINCE_2025_03, SINCE_2025_06};
use crate::transport::Transport::Http;
use crate::web::Ask;
use crate::web::peer::Site;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

pub(super) const CHECKS: &[Check] = &[
    must("S-243", SINCE_2025_06, "A token that is over or taken back opens nothing.", wants_a_good)
        .over(Http),
    must("S-244", SINCE_2025_06, "A token for another server opens nothing.", wants_its_own)
        .over(Http),
    must("S-245", SINCE_2025_03, "Without the scope it gets 403 and is told which.", wants_scope)
        .over(Http),
];

/// The server, and what its tokens are good for.
struct Issued {
    site: Site,
    _credentials: SecretFile,
}

impl Issued {
    fn start(ctx: &Ctx<'_>) -> Result<Issued, Outcome> {
        let flags = told(&ctx.profile()?.oauth_args, "oauth_args")?;
        let resource = flags.iter().skip_while(|flag| *flag != "--oauth-resource").nth(1);
        let resource = resource.ok_or_else(|| skip("`oauth_args` names no resource"))?;
        let credentials = SecretFile::write("engine:secret")?;
        let url = introspection(resource.clone())
            .map_err(|error| fail(format!("the engine cannot listen: {error}")))?;
        let ours = ["--oauth-introspection-url".to_owned(), url];
        let ours = ours.into_iter().chain(["--oauth-client-file".to_owned(), credentials.path()]);
        let arguments: Vec<_> = flags.iter().cloned().chain(ours).collect();
        let endpoint = ctx.endpoint().with(&arguments);
        let site = start(&endpoint.ok_or_else(|| skip("the server is not ours to start"))?)?;
        Ok(Issued { site, _credentials: credentials })
    }

    /// A request that is answered with the good token, to be sent with another.
    fn request(&self, ctx: &Ctx<'_>) -> Result<Ask, Outcome> {
        let raw = Raw::open_at(ctx, self.site.server.url(), &[("authorization", "Bearer good")])?;
        let ask = raw.harmless(ctx, 2);
        let status = ctx.http(&ask)?.status();
        ensure(status == 200, || format!("the good token is answered {status}"))?;
        Ok(ask)
    }
}

/// Answers questions about tokens until the process ends; gives the URL to ask at.
fn introspection(resource: String) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/introspect", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One that has hung up is asked again by whoever wants to know.
            let _ = answer(stream, &resource);
        }
    });
    Ok(url)
}

fn answer(stream: TcpStream, resource: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut form = vec![0; length];
    reader.read_exact(&mut form)?;
    let form = String::from_utf8_lossy(&form);
    let token = form.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
    let body = claims(token, resource).to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let length = body.len();
    write!(reader.get_mut(), "{head}Content-Length: {length}\r\n\r\n{body}")
}

/// What is said of each token.
fn claims(token: &str, resource: &str) -> Value {
    let good = json!({"active": true, "sub": "ada", "aud": resource, "scope": "mcp:use"});
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    match token {
        "good" => good,
        "expired" => with("exp", json!(1)),
        "elsewhere" => with("aud", json!("https://other.test/mcp")),
        "below" => with("aud", json!(format!("{resource}/below"))),
        "nowhere" => with("aud", Value::Null),
        "unscoped" => with("scope", json!("mcp:other mcp:used")),
        _ => json!({"active": false}),
    }
}

fn opens_nothing(ctx: &mut Ctx<'_>, tokens: &[&str]) -> Verdict {
    let issued = Issued::start(ctx)?;
    let ask = issued.request(ctx)?;
    for token in tokens {
        let ask = ask.clone().with("authorization", &format!("Bearer {token}"));
        is_challenged(ctx, &format!("the token `{token}`"), &ask)?;
    }
    Ok(())
}

fn wants_a_good(ctx: &mut Ctx<'_>) -> Verdict {
    opens_nothing(ctx, &["expired", "revoked", "unknown"])
}

fn wants_its_own(ctx: &mut Ctx<'_>) -> Verdict {
    opens_nothing(ctx, &["elsewhere", "below", "nowhere"])
}

fn wants_scope(ctx: &mut Ctx<'_>) -> Verdict {
    let issued = Issued::start(ctx)?;
    let ask = issued.request(ctx)?.with("authorization", "Bearer unscoped");
    let reply = ctx.http(&ask)?;
    let (status, challenge) = (reply.status(), challenge(&reply));
    let told = challenge.contains("insufficient_scope") && challenge.contains("mcp:use");
    ensure(status == 403 && told, || format!("answered {status}, {challenge:?}"))
}
