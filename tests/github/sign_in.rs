//! Who the server is to GitHub, and that nobody else learns how it proves it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace_tests::github::proxy::{Fault, Seen};

use super::{Session, Stand, TOKEN, built};

const APP_KEY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/github-issues/fixtures/app-key.pem");

fn folder() -> Result<PathBuf> {
    let folder = built::target_folder().join("github-stand/sign-in");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// What an installation is given. The proxy lets it in from then on.
const GRANTED: &[u8] = br#"{"token":"ghs_0123456789abcdefghijABCDEFGHIJ012345",
    "expires_at":"2099-01-01T00:00:00Z","permissions":{"issues":"write"}}"#;

#[derive(Deserialize)]
struct Claims {
    iss: u64,
    iat: u64,
    exp: u64,
}

/// What the App says of itself, if it is signed with its key.
fn verified(authorization: &str) -> Result<Claims> {
    let convert = "console.log(JSON.stringify(\
        crypto.createPublicKey(fs.readFileSync(process.argv[1])).export({ format: 'jwk' })))";
    let output = Command::new("node").args(["-e", convert, APP_KEY]).output()?;
    let public: Value = serde_json::from_slice(&output.stdout)?;
    let part = |name: &str| public[name].as_str().context("a part of the key");
    let key = DecodingKey::from_rsa_components(part("n")?, part("e")?)?;
    let token = authorization.strip_prefix("Bearer ").context("a bearer token")?;
    let rules = Validation::new(Algorithm::RS256);
    Ok(jsonwebtoken::decode::<Claims>(token, &key, &rules)?.claims)
}

#[test]
fn an_app_signs_in_and_works() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    stand.proxy.next(
        "POST",
        "/installations/34/access_tokens",
        Fault::Says("201 Created", GRANTED),
    );
    for (installation, is_installed) in [("34", true), ("35", false)] {
        let mut session = Session::with(&stand.proxy.url, |server| {
            server.env_remove("GITHUB_TOKEN").env_remove("GITHUB_PERSONAL_ACCESS_TOKEN");
            server.args(["--app-id", "12", "--app-installation-id", installation]);
            server.args(["--app-key-file", APP_KEY])
        })?;
        let create = json!({"title": format!("by installation {installation}"), "body": "text"});
        let (is_good, text) = session.call("github_create_issue", create)?;
        ensure!(is_good == is_installed, "{installation}: {text}");
        ensure!(is_good || text.contains("gives this server's App no token"), "{text}");
        if is_good {
            session.says("issue_list", json!({}), &["by installation 34"])?;
            session.says("github_status", json!({}), &["GitHub App installation"])?;
        }
    }
    let seen = stand.proxy.seen();
    let (own, others): (Vec<_>, Vec<_>) =
        seen.iter().partition(|seen| seen.path.starts_with("/app/"));
    for own in own {
        let claims = verified(&own.authorization)?;
        // GitHub takes nothing that is good for more than ten minutes.
        ensure!(claims.iss == 12 && claims.exp - claims.iat <= 600, "{}", own.authorization);
    }
    let granted = |seen: &&Seen| seen.authorization.starts_with("Bearer ghs_0123456789");
    ensure!(!others.is_empty() && others.iter().all(granted), "{others:?}");
    Ok(())
}

/// Where there is no Node a story is left out, and whoever looks at its output reads so.
#[test]
fn without_node_a_story_says_that_it_was_skipped() -> Result<()> {
    let story = ["--exact", "github::one_call_one_issue", "--nocapture"];
    let output =
        Command::new(std::env::current_exe()?).args(story).env("PATH", folder()?).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.contains("skipped: this needs Node"), "{said}");
    ensure!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    Ok(())
}

/// However much it logs, and whatever goes wrong.
#[test]
fn the_token_is_in_no_log() -> Result<()> {
    let Some(stand) = Stand::start()? else { return Ok(()) };
    let path = folder()?.join("log");
    let audit = folder()?.join("audit");
    for token in [TOKEN, "ghp_0123456789abcdefghijABCDEFGHIJ012345"] {
        let log = File::create(&path)?;
        let mut session = Session::with(&stand.proxy.url, |server| {
            server.args(["--log", "trace", "--audit-arguments", "--audit-log"]).arg(&audit);
            server.env("GITHUB_TOKEN", token).env("RUST_LOG", "trace").stderr(log)
        })?;
        session.call("github_status", json!({}))?;
        session.call("github_create_issue", json!({"title": "x"}))?;
        session.call("issue_get", json!({"number": 99}))?;
        drop(session);
        let said = fs::read_to_string(&path)?;
        ensure!(said.len() > 100, "nothing was logged: {said}");
        ensure!(!said.contains(token), "{said}");
        ensure!(!fs::read_to_string(&audit)?.contains(token));
    }
    Ok(())
}
