//! The flags of tasks, over every server. One whose tools give no tasks works as without the flag.

use serde_json::{Value, json};

use super::running::Running;
use super::subject::Subject;
use super::works;

/// A task that would run for hours is stopped in time, and says so.
pub(super) fn ttl(subject: &Subject) {
    let mut server = subject.start(&["--task-ttl-secs", "1"]);
    if let Some(task) = start(&mut server, subject) {
        let id = server.request("tasks/result", &json!({"taskId": task}));
        let answer = server.answer(id);
        assert!(answer.to_string().contains("Stopped after 1 s"), "{answer}");
    }
    works(&mut server, subject);
}

/// There is room for one more when one is over.
pub(super) fn number(subject: &Subject) {
    let mut server = subject.start(&["--max-tasks", "1"]);
    if let Some(task) = start(&mut server, subject) {
        let refused = call(&mut server, subject);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("Too many tasks"), "{refused}");
        let id = server.request("tasks/cancel", &json!({"taskId": task}));
        server.answer(id);
        assert!(start(&mut server, subject).is_some());
    }
    works(&mut server, subject);
}

/// The name of the task the endless call becomes, where it can be one.
fn start(server: &mut Running, subject: &Subject) -> Option<Value> {
    let id = server.request("tasks/list", &json!({}));
    server.answer(id).get("result")?;
    subject.endless.as_ref()?;
    let task = call(server, subject)["result"]["task"]["taskId"].clone();
    assert!(task.is_string());
    Some(task)
}

fn call(server: &mut Running, subject: &Subject) -> Value {
    let mut params = subject.endless.clone().unwrap_or_default();
    params["task"] = json!({});
    server.call(&params)
}
