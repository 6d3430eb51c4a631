//! One client of a server over HTTP: a session, or, in the revision without, the requests of one
//! client. To a check it looks like a pipe: messages in, messages out.

use super::dispatch::{Shared, dispatch};
use super::routing::Parameters;
use super::runtime;
use super::server::HttpServer;
use crate::clock::{self, Instant};
use crate::peer::Incoming;
use crate::revision::Revision;
use crate::transcript::Transcript;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

/// Dropping it closes every connection it has.
pub struct HttpPeer {
    server: Arc<HttpServer>,
    shared: Arc<Shared>,
    input: UnboundedSender<Vec<u8>>,
    output: Receiver<Incoming>,
    dispatcher: AbortHandle,
    transcript: Transcript,
}

/// A server, and what has been learned of it.
#[derive(Clone)]
pub struct Site {
    pub server: Arc<HttpServer>,
    parameters: Arc<Parameters>,
}

impl Site {
    pub fn new(server: HttpServer) -> Site {
        Site { server: Arc::new(server), parameters: Arc::default() }
    }

    /// A client that has said nothing yet.
    pub fn connect(&self, revision: Revision, transcript: Transcript) -> HttpPeer {
        let (sender, output) = mpsc::channel();
        let (input, queue) = tokio::sync::mpsc::unbounded_channel();
        let (url, sse_url) = (self.server.url().to_owned(), self.server.sse_url());
        let parameters = Arc::clone(&self.parameters);
        let shared = Arc::new(Shared::new(revision, url, sse_url, parameters, sender));
        let dispatcher = runtime().spawn(dispatch(Arc::clone(&shared), queue)).abort_handle();
        let server = Arc::clone(&self.server);
        HttpPeer { server, shared, input, output, dispatcher, transcript }
    }
}

impl HttpPeer {
    pub fn server(&self) -> &HttpServer {
        &self.server
    }

    pub(crate) fn send(&mut self, bytes: Vec<u8>) {
        self.transcript.sent(&bytes);
        // A dispatcher that has ended has said so.
        let _ = self.input.send(bytes);
    }

    pub(crate) fn receive(&mut self, deadline: Instant) -> Incoming {
        match clock::receive(&self.output, deadline) {
            Ok(incoming) => {
                self.transcript.got(&incoming);
                incoming
            }
            Err(RecvTimeoutError::Timeout) => Incoming::Silence,
            Err(RecvTimeoutError::Disconnected) => Incoming::Eof,
        }
    }

    /// Closes the response to a request.
    pub(crate) fn hang_up(&mut self, id: &Value) -> bool {
        self.transcript.note(&format!("the response to {id} is closed"));
        let mut running =
            self.shared.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let task = running.remove(&id.to_string());
        task.map(|task| task.abort()).is_some()
    }

    pub(crate) fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    /// The id of the session, once there is one.
    pub fn session_id(&self) -> Option<String> {
        self.shared.session().id.clone()
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        self.dispatcher.abort();
        runtime().spawn(self.shared.goodbye());
    }
}
