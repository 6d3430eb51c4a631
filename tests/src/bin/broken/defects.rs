//! The defects: each spoils one thing that goes in or out, and nothing else.
//!
//! A new defect is a name here and a row in `tests/engine/defects.rs`.

use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Once;
use std::sync::mpsc::Sender;

/// For defects that show only once in the life of the process.
static ONCE: Once = Once::new();

thread_local! {
    /// Where this thread's server speaks; without one, to stdout.
    static SINK: RefCell<Option<Sender<Vec<u8>>>> = const { RefCell::new(None) };
}

/// The defect this process has; the empty name is none.
#[derive(Clone, Copy)]
pub(crate) struct Defect(&'static str);

/// A message about to be sent.
pub(crate) struct Outgoing<'a> {
    pub(crate) message: Value,
    /// The method that is answered, or the method of the notification itself.
    pub(crate) method: &'a str,
    pub(crate) modern: bool,
}

/// What becomes of a line of input.
pub(crate) enum Spoiled {
    Serve(Vec<u8>),
    Ignore,
    Die,
}

impl Defect {
    pub(crate) fn named(name: &str) -> Defect {
        let defect = Defect(String::leak(name.to_owned()));
        if defect.is("banner") {
            defect.write(b"server ready\n");
        }
        defect
    }

    pub(crate) fn spoil_input(self, line: Vec<u8>) -> Spoiled {
        let parsed = serde_json::from_slice::<Value>(line.trim_ascii());
        match (self.0, parsed) {
            ("answers-notifications", Ok(message))
                if message["method"].is_string() && message.get("id").is_none() =>
            {
                self.print(&json!({"jsonrpc": "2.0", "id": null, "result": {}}));
                Spoiled::Serve(line)
            }
            ("silent-on-garbage", Err(_)) => Spoiled::Ignore,
            ("dies-on-garbage", Err(_)) => Spoiled::Die,
            ("deaf-to-huge-ids", Ok(message))
                if message["id"].as_u64().is_some_and(|id| id > 1 << 53) =>
            {
                Spoiled::Ignore
            }
            _ => Spoiled::Serve(line),
        }
    }

    pub(crate) fn accepts_batch(self, right: bool, batch: &[Value]) -> bool {
        match self.0 {
            "no-batches" => false,
            "batches-everywhere" => !batch.is_empty(),
            _ => right,
        }
    }

    pub(crate) fn tolerates_id(self, id: &Value) -> bool {
        self.is("serves-null-id") && id.is_null()
    }

    pub(crate) fn heeds_cancel(self) -> bool {
        !self.is("ignores-cancel")
    }

    pub(crate) fn logs_always(self) -> bool {
        self.is("logs-always")
    }

    pub(crate) fn updates_always(self) -> bool {
        self.is("updates-always")
    }

    pub(crate) fn at_end(self) -> ExitCode {
        match self.0 {
            "unterminated" => self.write(b"{\"jsonrpc\":\"2.0\"}"),
            "exits-badly" => return ExitCode::FAILURE,
            "never-exits" => loop {
                std::thread::park();
            },
            _ => {}
        }
        ExitCode::SUCCESS
    }

    /// Sends a message, spoiled if this defect is about it.
    pub(crate) fn send(self, mut outgoing: Outgoing<'_>) {
        if self.drops(&outgoing) {
            return;
        }
        self.spoil(&mut outgoing);
        self.print(&outgoing.message);
        if self.is("answers-twice") && outgoing.method == "tools/list" {
            self.print(&outgoing.message);
        }
        let counted = outgoing.message["result"]["structuredContent"]["steps"] == 20;
        if self.is("late-progress") && counted {
            ONCE.call_once(|| self.late_progress());
        }
    }

    fn late_progress(self) {
        let params = json!({"progressToken": 4711, "progress": 1000});
        let method = "notifications/progress";
        self.print(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn print(self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn drops(self, outgoing: &Outgoing<'_>) -> bool {
        match self.0 {
            "loses-answers" => outgoing.message["id"].as_u64().is_some_and(|id| id % 7777 == 7000),
            "never-updates" => outgoing.method == "notifications/resources/updated",
            _ => false,
        }
    }

    fn spoil(self, Outgoing { message, method, modern }: &mut Outgoing<'_>) {
        let answers = |name: &str| *method == name && message.get("result").is_some();
        match self.0 {
            "old-jsonrpc" if answers("ping") => message["jsonrpc"] = json!("1.0"),
            "numeric-ids" => {
                if let Some(number) = message["id"].as_str().and_then(|id| id.parse::<u64>().ok()) {
                    message["id"] = json!(number);
                }
            }
            "result-and-error" if answers("prompts/list") => {
                message["error"] = json!({"code": 1, "message": "both"});
            }
            "homemade-meta" if answers("prompts/list") => {
                message["result"]["_meta"] = json!({"io.modelcontextprotocol/homemade": 1});
            }
            "no-server-info" if answers("initialize") => {
                message["result"]["serverInfo"] = json!({});
            }
            "modern-fields" if answers("tools/list") => {
                message["result"]["resultType"] = json!("complete");
            }
            "no-result-type" if answers("prompts/get") => {
                message["result"].as_object_mut().map(|result| result.remove("resultType"));
            }
            "no-hints" if answers("resources/read") => {
                message["result"].as_object_mut().map(|result| result.remove("ttlMs"));
            }
            "retired-code" if *method == "resources/read" && message.get("error").is_some() => {
                message["error"]["code"] = json!(-32002);
            }
            "empty-contents" if *method == "resources/read" && message.get("error").is_some() => {
                let result = json!({"contents": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
                *message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            }
            "asks-in-lists" if *modern && answers("prompts/list") => {
                message["result"] = json!({"resultType": "input_required", "requestState": "x"});
            }
            "wrong-code" if *method == "no/such" => message["error"]["code"] = json!(-32603),
            "untagged-updates" if *modern && *method == "notifications/resources/updated" => {
                message["params"]["_meta"] = json!({});
            }
            "stuck-progress" if *method == "notifications/progress" => {
                message["params"]["progress"] = json!(1);
            }
            _ if *method == "tools/call" => self.spoil_call(message),
            _ if answers("tools/list") => self.spoil_tools(&mut message["result"]["tools"]),
            _ => {}
        }
    }

    fn spoil_call(self, message: &mut Value) {
        let sum = message["result"]["structuredContent"]["sum"].as_f64();
        match self.0 {
            "wrong-output" if sum.is_some() => {
                message["result"]["structuredContent"]["sum"] = json!("many");
            }
            "wordless-pages" if sum == Some(3.75) => message["result"]["content"] = json!([]),
            "bare-32042" if message.get("error").is_some() => {
                message["error"]["code"] = json!(-32042);
            }
            _ => {}
        }
    }

    fn spoil_tools(self, tools: &mut Value) {
        if self.0 != "unknown-dialects" {
            return self.spoil_tool(&mut tools[0]);
        }
        let tools = tools.as_array_mut().into_iter().flatten();
        for tool in tools.filter(|tool| tool["name"] == "work") {
            tool["inputSchema"]["$schema"] = json!("https://example.com/dialect");
            tool["annotations"] = json!({"readOnlyHint": true});
        }
    }

    fn spoil_tool(self, tool: &mut Value) {
        match self.0 {
            "repeats-numbers" => {
                tool["inputSchema"]["properties"]["a"]["x-mcp-header"] = json!("A")
            }
            "remote-refs" => {
                let remote = json!({"$ref": "https://example.com/number.json"});
                tool["inputSchema"]["properties"]["a"] = remote;
            }
            "bad-schema" => tool["inputSchema"]["type"] = json!("objekt"),
            "lists-vary" => tool["description"] = json!(std::process::id().to_string()),
            _ => {}
        }
    }

    pub(crate) fn is(self, name: &str) -> bool {
        self.0 == name
    }

    /// From now on what this thread writes goes there.
    pub(crate) fn speak_into(sink: Sender<Vec<u8>>) {
        SINK.set(Some(sink));
    }

    pub(crate) fn write(self, bytes: &[u8]) {
        let sink = SINK.with_borrow(Option::clone);
        if let Some(sink) = sink {
            // Who has gone needs no answer.
            let _ = sink.send(bytes.to_vec());
            return;
        }
        // A client that has gone needs no answer.
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }
}
