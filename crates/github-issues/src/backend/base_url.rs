//! Where GitHub is. Only the operator says so, never a tool; what could send the token to the
//! wrong place is refused at start-up.

use std::net::IpAddr;

use url::{Host, Url};

/// A checked base URL: the origin, and the path every request begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    /// For example `https://github.example.com:8443`, without a slash at the end.
    pub(crate) origin: String,
    /// Empty, or for example `/api/v3`.
    pub(crate) prefix: String,
}

/// Why a base URL is refused; for the operator.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadUrl {
    #[error("it is not a URL: {0}")]
    Syntax(String),
    #[error("only https is accepted, and http to this machine or with --allow-http")]
    Scheme,
    #[error("it must hold neither user name, password, query nor fragment")]
    Extras,
    #[error("link-local addresses are where clouds keep their secrets, not GitHub")]
    LinkLocal,
}

impl BaseUrl {
    /// Takes a full URL, or a host as people have it at hand: `github.com`,
    /// `https://github.example.com`. A host alone means its API.
    pub(crate) fn parse(text: &str, allow_http: bool) -> Result<Self, BadUrl> {
        let text = text.trim();
        let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url = Url::parse(&full).map_err(|error| BadUrl::Syntax(error.to_string()))?;
        let host = url.host().ok_or_else(|| BadUrl::Syntax("no host".to_owned()))?;
        let has_extras = !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some();
        if has_extras {
            return Err(BadUrl::Extras);
        }
        if is_link_local(&host) {
            return Err(BadUrl::LinkLocal);
        }
        match url.scheme() {
            "https" => {}
            "http" if allow_http || is_loopback(&host) => {}
            _ => return Err(BadUrl::Scheme),
        }
        let path = url.path().trim_end_matches('/');
        let origin = url.origin().ascii_serialization();
        Ok(match host.to_string().as_str() {
            "github.com" | "www.github.com" => {
                Self { origin: "https://api.github.com".to_owned(), prefix: String::new() }
            }
            // GitHub Enterprise Cloud with data residency.
            host if host.ends_with(".ghe.com") && !host.starts_with("api.") => {
                Self { origin: origin.replacen("://", "://api.", 1), prefix: String::new() }
            }
            host if path.is_empty()
                && !host.starts_with("api.")
                && !is_loopback(&url_host(&url)) =>
            {
                Self { origin, prefix: "/api/v3".to_owned() }
            }
            _ => Self { origin, prefix: path.to_owned() },
        })
    }

    /// The path and query of `location` below this base, if it leads there and not elsewhere.
    pub(crate) fn below(&self, location: &str) -> Option<String> {
        let base = Url::parse(&format!("{}{}/", self.origin, self.prefix)).ok()?;
        let url = base.join(location).ok().filter(|_| !location.is_empty())?;
        if url.origin().ascii_serialization() != self.origin {
            return None;
        }
        let path = url.path().strip_prefix(self.prefix.as_str())?;
        path.starts_with('/').then(|| match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        })
    }
}

fn url_host(url: &Url) -> Host<&str> {
    url.host().unwrap_or(Host::Domain(""))
}

fn address<S>(host: &Host<S>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some(address.to_ipv4_mapped().map_or((*address).into(), Into::into)),
    }
}

fn is_loopback<S: AsRef<str>>(host: &Host<S>) -> bool {
    matches!(host, Host::Domain(name) if name.as_ref() == "localhost")
        || address(host).is_some_and(|address| address.is_loopback())
}

fn is_link_local<S>(host: &Host<S>) -> bool {
    match address(host) {
        Some(IpAddr::V4(address)) => address.is_link_local() || address.is_unspecified(),
        Some(IpAddr::V6(address)) => address.is_unicast_link_local() || address.is_unspecified(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_becomes_the_api() {
        for (text, origin, prefix) in [
            ("https://api.github.com", "https://api.github.com", ""),
            ("https://api.github.com/", "https://api.github.com", ""),
            ("github.com", "https://api.github.com", ""),
            ("octo.ghe.com", "https://api.octo.ghe.com", ""),
            ("https://api.octo.ghe.com", "https://api.octo.ghe.com", ""),
            ("github.example.com", "https://github.example.com", "/api/v3"),
            ("https://github.example.com:8443", "https://github.example.com:8443", "/api/v3"),
            ("https://h.example/api/v3/", "https://h.example", "/api/v3"),
            ("http://127.0.0.1:4300", "http://127.0.0.1:4300", ""),
            ("http://[::1]:4300/api/v3", "http://[::1]:4300", "/api/v3"),
            ("http://localhost:80", "http://localhost", ""),
        ] {
            let base = BaseUrl::parse(text, false).unwrap();
            assert_eq!((base.origin.as_str(), base.prefix.as_str()), (origin, prefix), "{text}");
        }
    }

    #[test]
    fn what_could_leak_the_token_is_refused() {
        for (text, reason) in [
            ("http://github.example.com", BadUrl::Scheme),
            ("ftp://github.example.com", BadUrl::Scheme),
            ("file:///etc", BadUrl::Syntax("no host".to_owned())),
            ("https://user@github.example.com", BadUrl::Extras),
            ("https://:secret@github.example.com", BadUrl::Extras),
            ("https://github.example.com/?a=b", BadUrl::Extras),
            ("https://github.example.com/#x", BadUrl::Extras),
            ("https://169.254.169.254", BadUrl::LinkLocal),
            ("https://[fe80::1]/api/v3", BadUrl::LinkLocal),
            ("https://[::ffff:169.254.169.254]/", BadUrl::LinkLocal),
            ("https://0.0.0.0/", BadUrl::LinkLocal),
        ] {
            assert_eq!(BaseUrl::parse(text, false), Err(reason), "{text}");
        }
        assert!(BaseUrl::parse("http://github.example.com", true).is_ok());
    }

    #[test]
    fn only_what_lies_below_is_followed() {
        let base = BaseUrl::parse("https://h.example:8443/api/v3", false).unwrap();
        for (location, below) in [
            (
                "https://h.example:8443/api/v3/repositories/1/issues?page=2",
                Some("/repositories/1/issues?page=2"),
            ),
            ("/api/v3/repositories/1", Some("/repositories/1")),
            ("https://h.example/api/v3/repositories/1", None),
            ("http://h.example:8443/api/v3/x", None),
            ("https://evil.example/api/v3/x", None),
            ("//evil.example/api/v3/x", None),
            ("", None),
            ("/api/v4/x", None),
            ("/api/v3x", None),
            ("/api/v3/../../etc", None),
            ("https://h.example:8443@evil.example/api/v3/x", None),
        ] {
            assert_eq!(base.below(location).as_deref(), below, "{location}");
        }
    }
}
