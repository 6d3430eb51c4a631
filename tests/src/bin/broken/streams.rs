//! A server on a thread of its own, spoken to by lines as over a pipe, and the streams of HTTP that
//! what it says is sorted into.

use crate::defects::Defect;
use crate::server::SUBSCRIPTION_KEY;
use crate::{Input, run};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a reader looks whether its client is still there.
const POLL: Duration = Duration::from_millis(20);

/// Messages in the order they came, kept for whoever comes back.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) number: u64,
    messages: Mutex<Vec<Value>>,
    grown: Condvar,
    pub(crate) is_over: AtomicBool,
    /// Up to where somebody has read.
    pub(crate) read: AtomicUsize,
    pub(crate) has_reader: AtomicBool,
}

impl Stream {
    fn push(&self, message: Value, last: bool) {
        locked(&self.messages).push(message);
        self.is_over.fetch_or(last, Ordering::SeqCst);
        self.grown.notify_all();
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.grown.notify_all();
    }

    /// The message at this place, and whether it is the last; `None` if it does not come for now.
    pub(crate) fn at(&self, place: usize) -> Option<(Value, bool)> {
        let messages = locked(&self.messages);
        let waited = self.grown.wait_timeout_while(messages, POLL, |messages| {
            messages.len() <= place && !self.is_over.load(Ordering::SeqCst)
        });
        let messages = waited.unwrap_or_else(PoisonError::into_inner).0;
        let over = self.is_over.load(Ordering::SeqCst);
        messages.get(place).map(|message| (message.clone(), over && place + 1 == messages.len()))
    }
}

/// One running server.
pub(crate) struct Engine {
    pub(crate) id: String,
    pub(crate) version: Mutex<String>,
    pub(crate) standing: Arc<Stream>,
    lines: SyncSender<Input>,
    /// Everything goes down the one stream of 2024-11-05.
    is_pair: bool,
    defect: Defect,
    asked: Mutex<Vec<Asked>>,
    streams: Mutex<Vec<Arc<Stream>>>,
    last: AtomicU64,
}

/// A request that waits for its answer.
struct Asked {
    /// Under which the server knows it; `null` for what has no id.
    id: Value,
    /// Under which its client does.
    original: Value,
    method: String,
    token: Value,
    stream: Arc<Stream>,
}

impl Engine {
    pub(crate) fn start(id: String, is_pair: bool, defect: Defect) -> Arc<Engine> {
        let (lines, input) = mpsc::sync_channel(64);
        let (output, said) = mpsc::channel::<Vec<u8>>();
        let engine = Arc::new(Engine {
            id,
            version: Mutex::default(),
            standing: Arc::default(),
            lines,
            is_pair,
            defect,
            asked: Mutex::default(),
            streams: Mutex::default(),
            last: AtomicU64::new(0),
        });
        thread::spawn(move || {
            Defect::speak_into(output);
            run(defect, &input);
        });
        // Ends with the server, which ends when nobody can speak to it any more.
        let sorter = Arc::downgrade(&engine);
        thread::spawn(move || {
            for line in said {
                let Some(engine) = sorter.upgrade() else { return };
                if let Ok(message) = serde_json::from_slice(&line) {
                    engine.sort(message);
                }
            }
        });
        engine
    }

    /// Hands over a line nobody waits for an answer to.
    pub(crate) fn tell(&self, line: Vec<u8>) {
        // A server that has died says so by its silence.
        let _ = self.lines.send(Input::Line(line));
    }

    /// Hands over a line and gives the stream its answer comes on. With `rename` the server knows
    /// it by an id of its own, so that clients may use the same.
    pub(crate) fn ask(&self, line: Vec<u8>, rename: bool) -> Arc<Stream> {
        let number = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        let stream = Arc::new(Stream { number, ..Stream::default() });
        locked(&self.streams).push(Arc::clone(&stream));
        let mut message: Value = serde_json::from_slice(&line).unwrap_or_default();
        let original = message["id"].clone();
        let has_id = original.is_string() || original.is_i64() || original.is_u64();
        let line = if rename && has_id && message.is_object() {
            message["id"] = json!(format!("inner-{number}"));
            message.to_string().into_bytes()
        } else {
            line
        };
        locked(&self.asked).push(Asked {
            id: if has_id { message["id"].clone() } else { Value::Null },
            original,
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            token: message["params"]["_meta"]["progressToken"].clone(),
            stream: Arc::clone(&stream),
        });
        self.tell(line);
        stream
    }

    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 {
            return Some(Arc::clone(&self.standing));
        }
        locked(&self.streams).iter().find(|stream| stream.number == number).cloned()
    }

    /// How many calls wait for their answer.
    pub(crate) fn calls(&self) -> usize {
        locked(&self.asked).iter().filter(|asked| asked.method == "tools/call").count()
    }

    /// The client wants the answer on this stream no more.
    pub(crate) fn cancel(&self, stream: &Stream) {
        let mut asked = locked(&self.asked);
        let Some(place) = asked.iter().position(|one| one.stream.number == stream.number) else {
            return;
        };
        let params = json!({"requestId": asked.remove(place).id});
        drop(asked);
        let notice =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.tell(notice.to_string().into_bytes());
    }

    /// Ends every listen stream.
    pub(crate) fn end_listens(&self) {
        // The checks that put their requests together by hand number them from one on.
        let by_hand = |one: &&Asked| one.original.as_u64().is_some_and(|id| id < 100);
        for asked in locked(&self.asked).iter().filter(by_hand) {
            let mut result = json!({"resultType": "complete", "_meta": {}});
            if !self.defect.is("ends-untagged") {
                result["_meta"][SUBSCRIPTION_KEY] = asked.original.clone();
            }
            let answer = json!({"jsonrpc": "2.0", "id": asked.original, "result": result});
            asked.stream.push(answer, true);
        }
    }

    /// Finds the stream a message belongs to.
    fn sort(&self, mut message: Value) {
        if self.is_pair {
            return self.standing.push(message, false);
        }
        let mut asked = locked(&self.asked);
        let is_answer = message.get("method").is_none();
        if is_answer {
            // Of two requests under one id the later is refused, first.
            let Some(place) = asked.iter().rposition(|one| one.id == message["id"]) else {
                return;
            };
            let Asked { original, stream, .. } = asked.remove(place);
            if message["id"].is_string() {
                message["id"] = original;
            }
            if self.defect.is("answers-by-get") && message["result"]["tools"].is_array() {
                self.standing.push(message.clone(), false);
            }
            return stream.push(message, true);
        }
        let tag = message["params"]["_meta"][SUBSCRIPTION_KEY].clone();
        let token = message["params"]["progressToken"].clone();
        let mixed = self.defect.is("mixes-streams") && !token.is_null();
        let found = match message["method"].as_str().unwrap_or_default() {
            _ if mixed => asked.iter().find(|one| one.method == "tools/call"),
            _ if !tag.is_null() => asked.iter().find(|one| one.id == tag),
            "notifications/progress" => asked.iter().find(|one| one.token == token),
            "notifications/resources/updated" => None,
            _ => asked.iter().rfind(|one| one.method == "tools/call"),
        };
        if let Some(found) = found {
            if !tag.is_null() {
                message["params"]["_meta"][SUBSCRIPTION_KEY] = found.original.clone();
            }
            if self.defect.is("asks-on-streams") && !token.is_null() {
                let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
                found.stream.push(ping, false);
            }
            return found.stream.push(message, false);
        }
        if self.defect.is("broadcasts") {
            asked.iter().for_each(|one| one.stream.push(message.clone(), false));
        }
        self.standing.push(message, false);
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
