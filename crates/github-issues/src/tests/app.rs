//! Signing in as an installation of a GitHub App: a token is asked for when one is needed, renewed
//! when GitHub does not take it any more, and shown to nobody.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::peer::{Act, Peer, json as answer};
use super::{call, config, connect, good, issue, refused};

const KEY: &str = include_str!("../../fixtures/app-key.pem");

async fn signed_in(peer: &Peer, prefix: &str) -> Client {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), KEY).unwrap();
    let mut config = config(&format!("{}{prefix}", peer.url));
    std::fs::remove_file(config.token_file.take().unwrap()).unwrap();
    config.app_id = Some(12);
    config.app_installation_id = Some(34);
    config.app_key_file = Some(key.path().to_owned());
    // Without optimization an RSA signature takes its time.
    config.request_timeout_secs = 10;
    connect(&config, Revision::V2025_11_25, Answering::nothing()).await
}

/// What a JSON Web Token says.
fn claims(authorization: &str) -> Value {
    let payload = authorization.strip_prefix("Bearer ").unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// Hands out numbered tokens, and takes only the newest.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<u64>>);

impl Tokens {
    async fn peer(&self, prefix: &'static str) -> Peer {
        let tokens = self.clone();
        let mut peer = Peer::start(move |seen| {
            let path = seen.path.strip_prefix(prefix).unwrap();
            let mut newest = tokens.0.lock().unwrap();
            if path == "/app/installations/34/access_tokens" {
                assert_eq!(claims(&seen.authorization)["iss"], 12);
                *newest += 1;
                let token = format!("ghs_{:036}", *newest);
                return answer(
                    201,
                    &json!({"token": token, "permissions": {},
                    "expires_at": "2099-01-01T00:00:00Z"}),
                );
            }
            match seen.head.contains(&format!("authorization: bearer ghs_{:036}", *newest)) {
                true if path == "/user" => {
                    answer(403, &json!({"message": "not accessible by integration"}))
                }
                true if seen.method == "POST" => answer(201, &json!({"number": 8, "id": 8})),
                true if path.contains('?') => answer(200, &json!([])),
                true => answer(200, &issue(7)),
                false => answer(401, &json!({"message": "Bad credentials"})),
            }
        })
        .await;
        peer.prefix = prefix;
        peer
    }

    /// GitHub takes the token back.
    fn revoke(&self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_again_when_it_is_no_good() {
    for prefix in ["", "/api/v3"] {
        let tokens = Tokens::default();
        let peer = tokens.peer(prefix).await;
        let client = signed_in(&peer, prefix).await;
        assert!(peer.seen().is_empty());
        good(&client, "issue_get", json!({"number": 7})).await;
        good(&client, "issue_get", json!({"number": 7})).await;
        let asked = || {
            let asked = peer.seen().into_iter().filter(|seen| seen.path.ends_with("access_tokens"));
            asked.count()
        };
        assert_eq!(asked(), 1, "{prefix}");
        tokens.revoke();
        good(&client, "issue_get", json!({"number": 7})).await;
        assert_eq!(asked(), 2, "{prefix}");
        // A write with a stale token was refused unread, so it is sent again.
        tokens.revoke();
        let made = call(&client, "github_create_issue", json!({"title": "x"})).await;
        assert_eq!(made.structured["number"], 8, "{}", made.text());
        let text = good(&client, "github_status", json!({})).await;
        assert!(text.contains("token: GitHub App installation"), "{text}");
        assert!(!text.contains("ghs_"), "{text}");
    }
}

#[tokio::test]
async fn an_app_that_gets_no_token_is_told_why() {
    for (status, message) in [
        (401, "A JSON web token could not be decoded"),
        (404, "Integration not found"),
        (403, "This installation has been suspended"),
    ] {
        let peer = Peer::always(status, json!({"message": message})).await;
        let client = signed_in(&peer, "").await;
        let edit = json!({"action": "edit", "comment_id": 5, "body": "new"});
        for (tool, ask) in [("issue_get", json!({"number": 7})), ("issue_comment", edit)] {
            let text = refused(&client, tool, ask).await;
            assert!(text.contains(message) && text.contains("nothing was sent"), "{text}");
        }
        assert!(peer.seen().iter().all(|seen| seen.path.ends_with("access_tokens")));
    }
    let silent = Peer::start(|_| Act::Drop).await;
    let text = refused(&signed_in(&silent, "").await, "issue_get", json!({"number": 7})).await;
    assert!(text.contains("cannot be reached"), "{text}");
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_without_being_shown() {
    let swapped = KEY.replace("MII", "XXX");
    for text in ["", "secret words", swapped.as_str()] {
        let key = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(key.path(), text).unwrap();
        let mut config = config("http://127.0.0.1:9");
        std::fs::remove_file(config.token_file.take().unwrap()).unwrap();
        config.app_id = Some(1);
        config.app_installation_id = Some(2);
        config.app_key_file = Some(key.path().to_owned());
        let error = crate::server(&config, super::pauses()).err().expect("refused");
        let said = format!("{error:#}");
        assert!(said.contains("no RSA key") && !said.contains("secret"), "{said}");
    }
}
