//! How answers find their questions: one task reads, one writes, a table of who waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{Answering, ClientError, Notification};
use crate::lock::lock;
use crate::transport::{Frame, Reader, Transport, Writer};

type Answer = Result<Value, ClientError>;
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Answer>>>>;

/// Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Link {
    last_id: AtomicU64,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Waiting,
    notifications: tokio::sync::Mutex<mpsc::UnboundedReceiver<Notification>>,
}

impl Link {
    pub(super) fn open(transport: impl Transport + 'static, answering: Answering) -> Self {
        let (reader, writer) = transport.split();
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (notify, notifications) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        tokio::spawn(write(writer, to_write));
        let incoming = Incoming {
            waiting: Arc::clone(&waiting),
            notify,
            outgoing: outgoing.downgrade(),
            answering,
        };
        tokio::spawn(read(reader, incoming));
        let notifications = tokio::sync::Mutex::new(notifications);
        Self { last_id: AtomicU64::new(0), outgoing, waiting, notifications }
    }

    pub(super) fn send(&self, message: &Value) {
        send(&self.outgoing, message);
    }

    pub(super) fn request(&self, method: &str, params: Value) -> Pending {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Pending { id, answer, outgoing: self.outgoing.clone() }
    }

    pub(super) async fn notification(&self) -> Option<Notification> {
        self.notifications.lock().await.recv().await
    }
}

/// A request under way.
#[derive(Debug)]
pub struct Pending {
    id: u64,
    answer: oneshot::Receiver<Answer>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
}

impl Pending {
    /// The request's id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// The server's error object, or the end of the connection.
    pub async fn answer(self) -> Answer {
        self.answer.await.unwrap_or(Err(ClientError::Closed))
    }

    /// Tells the server to stop. The answer, should it come all the same, is dropped.
    pub fn cancel(self) {
        let params = json!({"requestId": self.id, "reason": "no longer wanted"});
        send(
            &self.outgoing,
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }
}

fn send(outgoing: &mpsc::UnboundedSender<Vec<u8>>, message: &Value) {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    // A closed connection shows at the answer, which then never comes.
    let _ = outgoing.send(line);
}

async fn write(mut writer: impl Writer, mut outgoing: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = outgoing.recv().await {
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match writer.write(rest).await {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(_) => return,
            }
        }
    }
}

/// Where messages from the server go.
struct Incoming {
    waiting: Waiting,
    notify: mpsc::UnboundedSender<Notification>,
    outgoing: mpsc::WeakUnboundedSender<Vec<u8>>,
    answering: Answering,
}

async fn read(mut reader: impl Reader, incoming: Incoming) {
    loop {
        while let Some(frame) = reader.next() {
            let Frame::Message(line) = frame else {
                continue;
            };
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            incoming.receive(message);
        }
        if !matches!(reader.fill().await, Ok(true)) {
            lock(&incoming.waiting).clear();
            return;
        }
    }
}

impl Incoming {
    fn receive(&self, mut message: Value) {
        let Some(method) = text(&message, "method") else {
            let id = message.get("id").and_then(Value::as_u64);
            let sender = id.and_then(|id| lock(&self.waiting).remove(&id));
            if let Some(sender) = sender {
                let _ = sender.send(answer(message));
            }
            return;
        };
        let params = take(&mut message, "params");
        let Some(id) = message.get_mut("id").map(Value::take) else {
            let _ = self.notify.send(Notification { method, params });
            return;
        };
        let answer = if method == "ping" {
            Ok(json!({}))
        } else {
            (self.answering.answer)(&method, &params)
        };
        let reply = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(message) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": message}})
            }
        };
        if let Some(outgoing) = self.outgoing.upgrade() {
            send(&outgoing, &reply);
        }
    }
}

fn answer(mut message: Value) -> Answer {
    match take(&mut message, "error") {
        Value::Null => Ok(take(&mut message, "result")),
        mut error => Err(ClientError::Rpc {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: text(&error, "message").unwrap_or_default(),
            data: take(&mut error, "data"),
        }),
    }
}

/// A member of what may not be an object; `null` if there is none.
pub(super) fn take(value: &mut Value, key: &str) -> Value {
    value.get_mut(key).map(Value::take).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}
