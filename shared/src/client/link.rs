//! How answers find their questions: one task reads, one writes, a table of who waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{ClientError, Notification};
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
    pub(super) fn open(transport: impl Transport + 'static) -> Self {
        let (reader, writer) = transport.split();
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (notify, notifications) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        tokio::spawn(write(writer, to_write));
        tokio::spawn(read(
            reader,
            Arc::clone(&waiting),
            notify,
            outgoing.downgrade(),
        ));
        let notifications = tokio::sync::Mutex::new(notifications);
        Self {
            last_id: AtomicU64::new(0),
            outgoing,
            waiting,
            notifications,
        }
    }

    pub(super) fn send(&self, message: &Value) {
        send(&self.outgoing, message);
    }

    pub(super) fn request(&self, method: &str, params: Value) -> Pending {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Pending {
            id,
            answer,
            outgoing: self.outgoing.clone(),
        }
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

async fn read(
    mut reader: impl Reader,
    waiting: Waiting,
    notify: mpsc::UnboundedSender<Notification>,
    outgoing: mpsc::WeakUnboundedSender<Vec<u8>>,
) {
    loop {
        while let Some(frame) = reader.next() {
            let Frame::Message(line) = frame else {
                continue;
            };
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            receive(message, &waiting, &notify, &outgoing);
        }
        if !matches!(reader.fill().await, Ok(true)) {
            lock(&waiting).clear();
            return;
        }
    }
}

fn receive(
    mut message: Value,
    waiting: &Waiting,
    notify: &mpsc::UnboundedSender<Notification>,
    outgoing: &mpsc::WeakUnboundedSender<Vec<u8>>,
) {
    let Some(method) = text(&message, "method") else {
        let sender = message
            .get("id")
            .and_then(Value::as_u64)
            .and_then(|id| lock(waiting).remove(&id));
        if let Some(sender) = sender {
            let _ = sender.send(answer(message));
        }
        return;
    };
    if message.get("id").is_none() {
        let _ = notify.send(Notification {
            method,
            params: take(&mut message, "params"),
        });
        return;
    }
    // A request of the server's: all we can do is live.
    let id = take(&mut message, "id");
    let reply = match method.as_str() {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    };
    if let Some(outgoing) = outgoing.upgrade() {
        send(&outgoing, &reply);
    }
}

fn answer(mut message: Value) -> Answer {
    match take(&mut message, "error") {
        Value::Null => Ok(take(&mut message, "result")),
        mut error => Err(ClientError::Rpc {
            code: error
                .get("code")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
