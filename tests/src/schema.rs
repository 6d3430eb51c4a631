//! Judges messages by the official JSON Schema of their revision.
//!
//! The schemas are not part of this repository: the caller names a folder that holds
//! `<revision>/schema.json`. Each definition is compiled once, on first use.

use crate::revision::{self, Revision};
use anyhow::{Context, Result, anyhow};
use jsonschema::{Registry, Resource, Validator};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The schemas of all revisions.
pub struct Schemas {
    registry: Registry<'static>,
    definitions: HashMap<Revision, BTreeSet<String>>,
    compiled: Mutex<HashMap<(Revision, String), Arc<Validator>>>,
}

impl Schemas {
    /// Reads `<folder>/<revision>/schema.json` for every revision.
    pub fn load(folder: &Path) -> Result<Schemas> {
        let mut registry = Registry::new();
        let mut definitions = HashMap::new();
        for &revision in revision::ALL {
            let path = folder.join(revision.date()).join("schema.json");
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("reading {}", path.display()))?;
            let schema: Value = serde_json::from_str(&text)
                .with_context(|| format!("parsing {}", path.display()))?;
            let names = schema[definitions_key(revision)].as_object();
            let names = names.ok_or_else(|| anyhow!("{} defines nothing", path.display()))?;
            definitions.insert(revision, names.keys().cloned().collect());
            registry = registry.add(document_uri(revision), Resource::from_contents(schema))?;
        }
        let registry = registry.prepare()?;
        Ok(Schemas { registry, definitions, compiled: Mutex::default() })
    }

    /// Checks a request or notification, from either side.
    pub fn check_call(&self, revision: Revision, message: &Value) -> Result<(), String> {
        let is_request = message.get("id").is_some();
        let envelope = if is_request { "JSONRPCRequest" } else { "JSONRPCNotification" };
        self.check(revision, envelope, message)?;
        let method = message["method"].as_str().unwrap_or_default();
        let suffix = if is_request { "Request" } else { "Notification" };
        match definition_of(method) {
            Some(stem) => self.check(revision, &format!("{stem}{suffix}"), message),
            None => Ok(()),
        }
    }

    /// Checks a response to a request for `method`; an empty method checks the envelope alone.
    pub fn check_response(
        &self,
        revision: Revision,
        method: &str,
        message: &Value,
    ) -> Result<(), String> {
        let modern_names = revision >= Revision::V2025_11_25;
        if let Some(error) = message.get("error") {
            let envelope = if modern_names { "JSONRPCErrorResponse" } else { "JSONRPCError" };
            self.check(revision, envelope, &with_required_id(revision, message))?;
            return self.check_error(revision, error, message);
        }
        let envelope = if modern_names { "JSONRPCResultResponse" } else { "JSONRPCResponse" };
        self.check(revision, envelope, message)?;
        let result = &message["result"];
        let definition = match definition_of(method) {
            _ if result["resultType"] == "input_required" => "InputRequiredResult".to_owned(),
            _ if result["task"].is_object() || result["resultType"] == "task" => {
                "CreateTaskResult".to_owned()
            }
            Some("Ping" | "SetLevel" | "Subscribe" | "Unsubscribe") => "EmptyResult".to_owned(),
            Some(stem) => format!("{stem}Result"),
            None => return Ok(()),
        };
        self.check(revision, &definition, result)
    }

    fn check_error(
        &self,
        revision: Revision,
        error: &Value,
        message: &Value,
    ) -> Result<(), String> {
        let definition = match (revision.is_modern(), error["code"].as_i64()) {
            (false, Some(-32042)) => "URLElicitationRequiredError",
            (true, Some(-32020)) => "HeaderMismatchError",
            (true, Some(-32021)) => "MissingRequiredClientCapabilityError",
            (true, Some(-32022)) => "UnsupportedProtocolVersionError",
            _ => return Ok(()),
        };
        self.check(revision, definition, message)
    }

    /// A definition the revision does not have judges nothing: methods that are not in a
    /// revision are the business of the checks, not of its schema.
    fn check(&self, revision: Revision, definition: &str, instance: &Value) -> Result<(), String> {
        if !self.definitions.get(&revision).is_some_and(|names| names.contains(definition)) {
            return Ok(());
        }
        let validator = self.validator(revision, definition)?;
        validator.validate(instance).map_err(|error| {
            format!("not a {definition} of {revision}: {error} at \"{}\"", error.instance_path())
        })
    }

    fn validator(&self, revision: Revision, definition: &str) -> Result<Arc<Validator>, String> {
        let mut compiled = self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = (revision, definition.to_owned());
        if let Some(validator) = compiled.get(&key) {
            return Ok(Arc::clone(validator));
        }
        let pointer =
            format!("{}#/{}/{definition}", document_uri(revision), definitions_key(revision));
        let validator = jsonschema::options()
            .with_registry(&self.registry)
            .should_validate_formats(true)
            .build(&json!({ "$ref": pointer }))
            .map_err(|error| format!("the schema of {definition} does not compile: {error}"))?;
        let validator = Arc::new(validator);
        compiled.insert(key, Arc::clone(&validator));
        Ok(validator)
    }
}

fn document_uri(revision: Revision) -> String {
    format!("https://schema.test/{revision}")
}

fn definitions_key(revision: Revision) -> &'static str {
    if revision < Revision::V2025_11_25 { "definitions" } else { "$defs" }
}

/// Up to 2025-06-18 the schema demands an id in every error, yet an error about a message whose
/// id could not be read has none to give; the text of JSON-RPC wins.
fn with_required_id(revision: Revision, message: &Value) -> Value {
    let mut message = message.clone();
    if revision < Revision::V2025_11_25 && message["id"].is_null() {
        message["id"] = json!(0);
    }
    message
}

/// The stem the schemas use for a method: `tools/call` is `CallToolRequest`, `CallToolResult`.
fn definition_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "Initialize",
        "ping" => "Ping",
        "server/discover" => "Discover",
        "tools/list" => "ListTools",
        "tools/call" => "CallTool",
        "resources/list" => "ListResources",
        "resources/templates/list" => "ListResourceTemplates",
        "resources/read" => "ReadResource",
        "resources/subscribe" => "Subscribe",
        "resources/unsubscribe" => "Unsubscribe",
        "prompts/list" => "ListPrompts",
        "prompts/get" => "GetPrompt",
        "completion/complete" => "Complete",
        "logging/setLevel" => "SetLevel",
        "tasks/get" => "GetTask",
        "tasks/result" => "GetTaskPayload",
        "tasks/list" => "ListTasks",
        "tasks/cancel" => "CancelTask",
        "notifications/tasks/status" => "TaskStatus",
        "subscriptions/listen" => "SubscriptionsListen",
        "sampling/createMessage" => "CreateMessage",
        "elicitation/create" => "Elicit",
        "roots/list" => "ListRoots",
        "notifications/initialized" => "Initialized",
        "notifications/cancelled" => "Cancelled",
        "notifications/progress" => "Progress",
        "notifications/message" => "LoggingMessage",
        "notifications/resources/updated" => "ResourceUpdated",
        "notifications/resources/list_changed" => "ResourceListChanged",
        "notifications/tools/list_changed" => "ToolListChanged",
        "notifications/prompts/list_changed" => "PromptListChanged",
        "notifications/roots/list_changed" => "RootsListChanged",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledged",
        _ => return None,
    })
}
