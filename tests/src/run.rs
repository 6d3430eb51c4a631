//! Drives one server through every check of every revision it claims.

use crate::check::{Check, Ctx, Outcome, Run, Verdict, fail, skip};
use crate::checks;
use crate::findings::Findings;
use crate::postgres;
use crate::profile::Profile;
use crate::report::{Report, Row};
use crate::revision::{self, Revision};
use crate::schema::Schemas;
use crate::transport::{Endpoint, Transport};
use crate::watch::Watch;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

/// What lets into a server of this workspace only who brings the token of a file, and lets it log
/// as much as it can.
const TOKEN_FLAGS: [&str; 3] = ["--log", "trace", "--auth-token-file"];

/// A server under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name the reports show.
    pub name: String,
    /// How it is started, or where it runs.
    pub endpoint: Endpoint,
    /// What to call on it; without one, only what every server must do is checked.
    pub profile: Option<Profile>,
}

impl Target {
    /// A server of this workspace: `program` started as the profile of `crates/<folder>` says.
    pub fn in_workspace(folder: &str, program: &Path, transport: Transport) -> Result<Target> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = tests.parent().unwrap_or(tests).display().to_string();
        let path = tests.join("profiles").join(format!("{folder}.json"));
        let mut profile = Profile::load(&path)?;
        // These all our servers have in common.
        let token_flags = TOKEN_FLAGS.map(str::to_owned).to_vec();
        profile.token_flags.get_or_insert(token_flags);
        let mut command = vec![program.display().to_string()];
        for argument in &profile.args {
            command.push(if argument == postgres::PLACEHOLDER {
                postgres::url()?
            } else {
                argument.replace("{root}", &root)
            });
        }
        let endpoint = match transport {
            Transport::Stdio => Endpoint::Stdio(command),
            Transport::Http => {
                command.extend(["--http", "127.0.0.1:0"].map(str::to_owned));
                Endpoint::Http(command)
            }
        };
        Ok(Target { name: format!("mcp-{folder}"), endpoint, profile: Some(profile) })
    }
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The revisions to check; empty means all. Those the server does not claim are skipped.
    pub revisions: Vec<Revision>,
    /// A folder with the official schemas, `<revision>/schema.json`.
    pub schema_dir: Option<PathBuf>,
    /// The ids of the checks to run; empty means all.
    pub only: Vec<String>,
}

/// Runs every check and calls `on_row` for each row as soon as it is known. The rows of different
/// revisions may come interleaved; the report has them in order.
pub fn run(target: &Target, options: &Options, on_row: &mut dyn FnMut(&Row)) -> Result<Report> {
    let schemas = options.schema_dir.as_deref().map(Schemas::load).transpose()?.map(Arc::new);
    let checks: Vec<Check> = catalogue()?
        .into_iter()
        .filter(|check| options.only.is_empty() || options.only.iter().any(|id| id == check.id))
        .collect();
    let wanted =
        |revision: &&Revision| options.revisions.is_empty() || options.revisions.contains(revision);
    let (sender, rows) = mpsc::channel();
    let transport = target.endpoint.transport();
    let checks: Vec<Check> = checks
        .into_iter()
        .filter(|check| check.transport.is_none_or(|only| only == transport))
        .collect();
    let mut report = Report::new(&target.name);
    thread::scope(|scope| {
        for &revision in revision::ALL.iter().filter(wanted) {
            let (sender, schemas, checks) = (sender.clone(), schemas.clone(), &checks);
            scope.spawn(move || run_revision(target, revision, schemas, checks, &sender));
        }
        drop(sender);
        for row in rows {
            on_row(&row);
            report.push(row);
        }
    });
    report.finish();
    Ok(report)
}

/// Every check there is, in the order in which they run.
pub fn catalogue() -> Result<Vec<Check>> {
    Ok(checks::all()?.collect())
}

fn run_revision(
    target: &Target,
    revision: Revision,
    schemas: Option<Arc<Schemas>>,
    checks: &[Check],
    rows: &mpsc::Sender<Row>,
) {
    let mut ctx = Ctx::new(target, revision, schemas);
    let claim = claims(&ctx);
    let claimed = claim.is_ok();
    let transport = target.endpoint.transport();
    let emit = |check: &Check, outcome: Outcome, evidence: Vec<String>| {
        // The receiver outlives every sender; losing a row is impossible.
        let _ = rows.send(Row::new(&target.name, transport, revision, check, outcome, evidence));
    };
    emit(&checks::CLAIM, claim.err().unwrap_or(Outcome::Pass), Vec::new());
    if !claimed {
        return;
    }
    let applies = |check: &&Check| check.revisions.contains(&revision);
    // What was watched can only be judged once everything else has run.
    let observed = |check: &&Check| matches!(check.run, Run::Observed);
    for check in checks.iter().filter(applies).filter(|check| !observed(check)) {
        ctx.transcript.restart();
        let outcome = perform(check, &mut ctx).err().unwrap_or(Outcome::Pass);
        let red = matches!(outcome, Outcome::Fail(_) | Outcome::Warn(_));
        if red {
            ctx.abandon_shared();
        }
        let evidence = if red { ctx.transcript.lines() } else { Vec::new() };
        emit(check, outcome, evidence);
    }
    for check in checks.iter().filter(applies).filter(observed) {
        emit(check, observed_outcome(check, &ctx), Vec::new());
    }
}

fn perform(check: &Check, ctx: &mut Ctx<'_>) -> Verdict {
    match check.run {
        Run::Active(run) => run(ctx),
        Run::Case(case) => crate::case::run(case, ctx),
        Run::Observed => Ok(()),
    }
}

fn observed_outcome(check: &Check, ctx: &Ctx<'_>) -> Outcome {
    let faults = ctx.findings.faults(check.id);
    if !faults.is_empty() {
        return fail(faults.join("; "));
    }
    if ctx.findings.was_judged(check.id) {
        return Outcome::Pass;
    }
    if check.id.starts_with('W') && !ctx.has_schemas() {
        return skip("no schema folder was given");
    }
    skip("nothing this rule applies to was seen")
}

/// Whether the server serves this revision: it echoes the version, or lists it.
fn claims(ctx: &Ctx<'_>) -> Verdict {
    // What a first word leads to is judged by the checks, not here.
    let mut client = ctx.unopened()?;
    client.watch = Watch::new(ctx.revision, Findings::default(), None);
    let date = ctx.revision.date();
    let claimed = if ctx.revision.is_modern() {
        let answer = client.call("server/discover", Value::Null)?;
        let versions = answer["result"]["supportedVersions"].as_array().cloned();
        versions.is_some_and(|versions| versions.contains(&json!(date)))
    } else if ctx.serves_pair()? {
        let answer = client.call("initialize", revision::initialize_params(date))?;
        answer["result"]["protocolVersion"] == date
    } else {
        false
    };
    if !claimed {
        return Err(skip("the server does not claim this revision"));
    }
    if ctx.revision.is_modern() && ctx.transport() == Transport::Http {
        // The client learns which arguments are to be repeated in headers.
        client.call("tools/list", Value::Null)?;
    }
    Ok(())
}
