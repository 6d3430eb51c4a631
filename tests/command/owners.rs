//! Clients of one server over HTTP: the jobs of one are not there for another.

use reqwest::Method;
use serde_json::{Value, json};
use workspace_tests::web::Ask;

use super::rig::{Rig, mark, marked, sh, sh_job, wait_for};
use crate::policies::web::{Web, status};

/// Who asks: a session, or a request of 2026-07-28 that belongs to none.
type Who<'a> = Option<&'a str>;

fn ask(web: &Web, who: Who<'_>, method: &str, params: Value) -> Value {
    let ask = match who {
        Some(session) => web.within(session, method, &params),
        None => {
            let ask = web.modern(method, params.clone());
            match params["uri"].as_str() {
                Some(uri) => ask.without("mcp-name").with("mcp-name", uri),
                None => ask,
            }
        }
    };
    ask.send().unwrap().message().unwrap()
}

fn call(web: &Web, who: Who<'_>, tool: &str, arguments: Value) -> Value {
    ask(web, who, "tools/call", json!({"name": tool, "arguments": arguments}))["result"].clone()
}

fn jobs(web: &Web, who: Who<'_>) -> Vec<Value> {
    let list = call(web, who, "list_jobs", json!({}));
    list["structuredContent"]["jobs"].as_array().unwrap().clone()
}

#[test]
fn a_job_is_there_for_its_own_client_alone() {
    let rig = Rig::new();
    let web = Web::spawn(&rig.command(&["--http", "127.0.0.1:0"]));
    let (first, second) = (web.open(), web.open());
    let everybody = [Some(first.as_str()), Some(second.as_str()), None];
    for owner in everybody {
        let printing = ask(&web, owner, "tools/call", sh("echo mine"));
        let sleeping = ask(&web, owner, "tools/call", sh_job("sleep 100"));
        let id = |answer: &Value| {
            answer["result"]["structuredContent"]["job_id"].as_str().unwrap().to_owned()
        };
        let (printed, sleeps) = (id(&printing), id(&sleeping));
        let uri = format!("command://jobs/{printed}/stdout");
        for who in everybody {
            let read = ask(&web, who, "resources/read", json!({"uri": uri}));
            let signal = json!({"job_id": sleeps, "signal": "CONT"});
            let signal = call(&web, who, "signal", signal);
            let output = call(&web, who, "read_output", json!({"job_id": printed}));
            let wait = call(&web, who, "wait", json!({"job_id": sleeps, "timeout_ms": 1}));
            let list = jobs(&web, who);
            let listed = list.iter().any(|job| job["job_id"] == sleeps.as_str());
            if who == owner {
                assert_eq!(read["result"]["contents"][0]["text"], "mine\n", "{read}");
                assert_eq!(output["structuredContent"]["text"], "mine\n");
                assert_ne!(signal["isError"], true, "{signal}");
                assert_eq!(wait["structuredContent"]["status"], "running", "{wait}");
                assert_eq!(listed, who.is_some(), "a name is not told to who has to know it");
            } else {
                assert!(read["error"].is_object(), "{read}");
                for refused in [signal, output, wait] {
                    assert_eq!(refused["isError"], true, "{refused}");
                    assert!(refused.to_string().contains("There is no job"), "{refused}");
                }
                assert!(!listed);
            }
        }
        if owner.is_none() {
            assert!(sleeps.len() >= 24, "{sleeps} can be guessed");
        }
        call(&web, owner, "signal", json!({"job_id": sleeps, "signal": "KILL"}));
    }
}

/// A job that sleeps, of a session.
fn sleeping(web: &Web, session: &str) -> String {
    let mark = mark();
    ask(web, Some(session), "tools/call", sh_job(&format!("setsid sleep {mark} & sleep {mark}")));
    wait_for("a job", || marked(&mark).len() == 2);
    mark
}

#[test]
fn the_jobs_of_a_session_end_with_it() {
    let rig = Rig::new();
    let idle_secs = 2;
    let flags = ["--http", "127.0.0.1:0", "--session-idle-secs", &idle_secs.to_string()];
    let web = Web::spawn(&rig.command(&flags));
    let (ended, used, left) = (web.open(), web.open(), web.open());
    let [of_ended, of_used, of_left] = [&ended, &used, &left].map(|it| sleeping(&web, it));
    let delete = Ask::new(Method::DELETE, web.server.url()).with("mcp-session-id", &ended);
    assert!((200..300).contains(&status(&delete)));
    wait_for("no job of the session that was ended", || marked(&of_ended).is_empty());
    wait_for("no job of the session nobody uses", || {
        assert_eq!(web.ping(&used), 200);
        assert_eq!(marked(&of_used).len(), 2, "a job in use has ended");
        marked(&of_left).is_empty()
    });
    assert_eq!(web.ping(&left), 404);
}
