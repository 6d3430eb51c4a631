//! Who may come in: the host a request is addressed to, the web page it comes from, the token it
//! brings.
//!
//! A web page anywhere can make a browser send requests to a server on this machine, under a name
//! it controls that leads here (DNS rebinding). So a request names this machine, or a host the
//! operator has named, and a page that sends one is from here or from an origin the operator named.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, ORIGIN};
use orion::util::secure_cmp;

use super::Bind;
#[cfg(feature = "oauth")]
use super::oauth::{OAuth, Rejected};
use crate::principal::Principal;

#[derive(Debug)]
pub(crate) struct Access {
    /// `None`: any, because a public address has names we cannot know.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    auth: Auth,
}

/// How callers show who they are.
#[derive(Debug)]
pub(super) enum Auth {
    /// They need not.
    Anybody,
    /// By the one token everybody shares who may come in.
    Token(String, Arc<Principal>),
    #[cfg(feature = "oauth")]
    /// By tokens an authorization server has issued.
    Issued(Box<OAuth>),
}

impl Auth {
    pub(super) fn token(token: String) -> Self {
        let principal = Principal { name: "token".to_owned(), scopes: Vec::new() };
        Self::Token(token, Arc::new(principal))
    }
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    Host,
    Origin,
    /// No token, or not one of ours.
    Token {
        is_given: bool,
    },
    /// Nobody can tell at the moment.
    #[cfg(feature = "oauth")]
    Unknown,
}

impl Access {
    pub(super) fn new(bind: &Bind, hosts: &[String], origins: &[String], auth: Auth) -> Self {
        let is_checked = !bind.is_public() || !hosts.is_empty();
        let lower = |text: &String| text.to_ascii_lowercase();
        Self {
            hosts: is_checked.then(|| hosts.iter().map(lower).collect()),
            origins: origins.iter().map(lower).collect(),
            auth,
        }
    }

    /// Checks where a request is addressed to and where it comes from.
    pub(super) fn check_place(&self, headers: &HeaderMap) -> Result<(), Denied> {
        if let Some(hosts) = &self.hosts {
            let host = only(headers, HOST.as_str()).ok_or(Denied::Host)?.to_ascii_lowercase();
            let name = without_port(&host);
            if !is_local_name(name) && !hosts.iter().any(|known| *known == host || known == name) {
                return Err(Denied::Host);
            }
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, ORIGIN.as_str()).ok_or(Denied::Origin)?.to_ascii_lowercase();
        let host = origin.split_once("://").map(|(_, host)| without_port(host));
        let is_known = host.is_some_and(is_local_name) || self.origins.contains(&origin);
        if is_known { Ok(()) } else { Err(Denied::Origin) }
    }

    /// Who is asking; `None` if anybody may.
    pub(super) async fn principal(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<Principal>>, Denied> {
        let given = only(headers, AUTHORIZATION.as_str()).and_then(bearer);
        let denied = Denied::Token { is_given: headers.contains_key(AUTHORIZATION) };
        match &self.auth {
            Auth::Anybody => Ok(None),
            Auth::Token(expected, principal) => {
                let given = given.unwrap_or_default();
                match secure_cmp(given.as_bytes(), expected.as_bytes()) {
                    Ok(()) => Ok(Some(Arc::clone(principal))),
                    Err(_) => Err(denied),
                }
            }
            #[cfg(feature = "oauth")]
            Auth::Issued(oauth) => match oauth.principal(given.ok_or(denied)?).await {
                Ok(principal) => Ok(Some(principal)),
                Err(Rejected::Invalid) => Err(denied),
                Err(Rejected::Unknown) => Err(Denied::Unknown),
            },
        }
    }

    #[cfg(feature = "oauth")]
    pub(super) fn oauth(&self) -> Option<&OAuth> {
        match &self.auth {
            Auth::Issued(oauth) => Some(oauth),
            _ => None,
        }
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim_ascii())
}

/// The value of a header that may come once only: with two, we and a proxy could believe
/// different ones.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(HeaderValue::to_str)?.ok()?;
    values.next().is_none().then(|| value.trim_ascii())
}

/// Without its port, if that is all there is behind the name.
fn without_port(host: &str) -> &str {
    let (name, rest) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(split) => split,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    if is_plain { name } else { host }
}

fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn requests_name_this_machine_and_pages_are_from_here() {
        let bind: Bind = "127.0.0.1:0".parse().unwrap();
        let hosts = ["mcp.example".to_owned()];
        let origins = ["https://app.example".to_owned()];
        let access = Access::new(&bind, &hosts, &origins, Auth::Anybody);
        for (given, right) in [
            (vec![("host", "localhost:80")], Ok(())),
            (vec![("host", "LOCALHOST")], Ok(())),
            (vec![("host", "127.0.0.1:8080")], Ok(())),
            (vec![("host", "[::1]:8080")], Ok(())),
            (vec![("host", "mcp.example:8080")], Ok(())),
            (vec![("host", "evil.example")], Err(Denied::Host)),
            (vec![("host", "localhost.evil.example")], Err(Denied::Host)),
            (vec![("host", "127.0.0.1.evil.example")], Err(Denied::Host)),
            (vec![("host", "localhost@evil.example")], Err(Denied::Host)),
            (vec![("host", "localhost:80@evil.example")], Err(Denied::Host)),
            (vec![("host", "mcp.example:80@evil.example")], Err(Denied::Host)),
            (vec![("host", "[::1].evil.example")], Err(Denied::Host)),
            (vec![("host", "[::1]")], Ok(())),
            (vec![("host", "localhost:")], Ok(())),
            (vec![("host", "localhost"), ("host", "evil.example")], Err(Denied::Host)),
            (vec![], Err(Denied::Host)),
            (vec![("host", "localhost"), ("origin", "http://localhost:5173")], Ok(())),
            (vec![("host", "localhost"), ("origin", "https://app.example")], Ok(())),
            (vec![("host", "localhost"), ("origin", "http://app.example")], Err(Denied::Origin)),
            (vec![("host", "localhost"), ("origin", "http://[::1]:5173")], Ok(())),
            (
                vec![("host", "localhost"), ("origin", "http://localhost:1@evil")],
                Err(Denied::Origin),
            ),
            (vec![("host", "localhost"), ("origin", "null")], Err(Denied::Origin)),
            (vec![("host", "localhost"), ("origin", "http://evil.example")], Err(Denied::Origin)),
        ] {
            assert_eq!(access.check_place(&headers(&given)), right, "{given:?}");
        }
    }

    #[tokio::test]
    async fn only_the_token_opens() {
        let bind: Bind = "127.0.0.1:0".parse().unwrap();
        let access = Access::new(&bind, &[], &[], Auth::token("s3cret".to_owned()));
        let opens =
            async |given: &[(&'static str, &str)]| access.principal(&headers(given)).await.is_ok();
        assert!(opens(&[("authorization", "Bearer s3cret")]).await);
        assert!(opens(&[("authorization", "bearer  s3cret ")]).await);
        for wrong in ["Bearer s3cre", "Bearer s3cretx", "Bearer", "Basic s3cret", "s3cret", ""] {
            assert!(!opens(&[("authorization", wrong)]).await, "{wrong}");
        }
        assert!(!opens(&[]).await);
        let twice = [("authorization", "Bearer s3cret"), ("authorization", "Bearer s3cret")];
        assert!(!opens(&twice).await);
    }
}
