//! Sampling: asking the client's model.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{AskError, Question, unsupported};
use crate::content::{Media, Role};
use crate::revision::Revision;

/// What is asked of the model. Only messages and `max_tokens` are required.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleRequest {
    messages: Vec<SampleMessage>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_preferences: Option<ModelPreferences>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_context: Option<IncludeContext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<SampleTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
}

/// One message of the conversation put before the model.
#[derive(Debug, Clone, Serialize)]
struct SampleMessage {
    role: Role,
    content: Vec<SampleContent>,
}

/// A block of a message to or from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SampleContent {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// A sound (from 2025-03-26).
    Audio(Media),
    /// The model wants a tool called (from 2025-11-25).
    ToolUse {
        /// Names this use; its result repeats it.
        id: String,
        /// Which tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// What the tool answered (from 2025-11-25).
    ToolResult {
        /// The use this answers.
        tool_use_id: String,
        /// Content blocks as in `tools/call`.
        content: Vec<Value>,
        /// The tool failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// What matters in the choice of a model; each priority from 0 to 1.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names or parts of names, most wanted first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// Cheap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// Fast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// Clever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

/// A wish for a model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelHint {
    /// A name or part of one.
    pub name: String,
}

/// Which servers' context the client should add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// Nothing.
    None,
    /// Ours.
    ThisServer,
    /// All it is connected to.
    AllServers,
}

/// A tool the model may use while it answers (from 2025-11-25).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SampleTool {
    /// Name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub input_schema: Value,
}

/// Whether the model must use tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// Usually the assistant.
    pub role: Role,
    /// What it said.
    pub content: Vec<SampleContent>,
    /// Which model it was.
    pub model: String,
    /// `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another word of the client's.
    pub stop_reason: Option<String>,
}

impl Sampled {
    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            SampleContent::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl SampleRequest {
    /// A conversation of no messages yet, to be answered in at most `max_tokens` tokens.
    pub fn new(max_tokens: u32) -> Self {
        Self {
            messages: Vec::new(),
            max_tokens,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            model_preferences: None,
            include_context: None,
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// Adds a message of text from the user.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, vec![SampleContent::Text { text: text.into() }])
    }

    /// Adds any message.
    pub fn message(mut self, role: Role, content: Vec<SampleContent>) -> Self {
        self.messages.push(SampleMessage { role, content });
        self
    }

    /// Instructions before the conversation; the client may change or leave them out.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// How freely the model chooses its words.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Texts at which the model stops.
    pub fn stop_sequences(mut self, sequences: Vec<String>) -> Self {
        self.stop_sequences = sequences;
        self
    }

    /// What matters in the choice of a model.
    pub fn model_preferences(mut self, preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(preferences);
        self
    }

    /// Which servers' context the client should add; deprecated by the newer revisions.
    pub fn include_context(mut self, context: IncludeContext) -> Self {
        self.include_context = Some(context);
        self
    }

    /// Passed on to the provider of the model.
    pub fn metadata(mut self, metadata: Value) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Tools the model may use (from 2025-11-25).
    pub fn tools(mut self, tools: Vec<SampleTool>, choice: ToolChoice) -> Self {
        self.tools = tools;
        self.tool_choice = Some(choice);
        self
    }

    pub(crate) fn question(&self, revision: Revision) -> Result<Question, AskError> {
        self.check_tool_results()?;
        let mut request = self.clone();
        if !revision.has_sampling_tools() {
            let blocks = || self.messages.iter().flat_map(|message| &message.content);
            let uses_tools = blocks().any(|block| {
                matches!(block, SampleContent::ToolUse { .. } | SampleContent::ToolResult { .. })
            });
            if uses_tools || !self.tools.is_empty() {
                return Err(unsupported(revision, "sampling with tools"));
            }
            request.messages = one_block_each(&self.messages);
        }
        if !revision.has_audio() {
            for block in request.messages.iter_mut().flat_map(|message| &mut message.content) {
                if let SampleContent::Audio(media) = block {
                    *block = SampleContent::Text {
                        text: format!("[{} audio, not shown]", media.mime_type),
                    };
                }
            }
        }
        let needs: &[_] = match (&self.include_context, self.tools.is_empty()) {
            (_, false) => &["sampling", "tools"],
            (Some(IncludeContext::ThisServer | IncludeContext::AllServers), true)
                if revision.has_sampling_tools() =>
            {
                &["sampling", "context"]
            }
            _ => &["sampling"],
        };
        let mut params = json!(request);
        unwrap_single_blocks(&mut params);
        Ok(Question { method: "sampling/createMessage", params, needs })
    }

    /// Each use of a tool is answered by exactly its result, in a message of results alone.
    fn check_tool_results(&self) -> Result<(), AskError> {
        let misused = |what: &str| Err(AskError::Misused(what.to_owned()));
        let mut open: Vec<&str> = Vec::new();
        for message in &self.messages {
            let mut uses = Vec::new();
            let mut results = Vec::new();
            for block in &message.content {
                match block {
                    SampleContent::ToolUse { id, .. } => uses.push(id.as_str()),
                    SampleContent::ToolResult { tool_use_id, .. } => {
                        results.push(tool_use_id.as_str())
                    }
                    _ => {}
                }
            }
            if !results.is_empty() && results.len() != message.content.len() {
                return misused("a message with tool results holds nothing else");
            }
            open.sort_unstable();
            results.sort_unstable();
            if open != results {
                return misused("each tool use needs exactly its result in the next message");
            }
            open = uses;
        }
        if open.is_empty() { Ok(()) } else { misused("the last tool use has no result") }
    }

    pub(crate) fn read(answer: &Value) -> Result<Sampled, AskError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            role: Role,
            content: Blocks,
            model: String,
            stop_reason: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Blocks {
            Many(Vec<SampleContent>),
            One(SampleContent),
        }
        let wire =
            Wire::deserialize(answer).map_err(|error| AskError::Malformed(error.to_string()))?;
        let content = match wire.content {
            Blocks::Many(blocks) => blocks,
            Blocks::One(block) => vec![block],
        };
        Ok(Sampled { role: wire.role, content, model: wire.model, stop_reason: wire.stop_reason })
    }
}

/// Before 2025-11-25 a message holds one block.
fn one_block_each(messages: &[SampleMessage]) -> Vec<SampleMessage> {
    let split = |message: &SampleMessage| {
        let role = message.role;
        let one = |block: &SampleContent| SampleMessage { role, content: vec![block.clone()] };
        message.content.iter().map(one).collect::<Vec<_>>()
    };
    messages.iter().flat_map(split).collect()
}

/// A single block is written without the array, which every revision understands.
fn unwrap_single_blocks(params: &mut Value) {
    let messages = params.get_mut("messages").and_then(Value::as_array_mut);
    for content in messages.into_iter().flatten().filter_map(|message| message.get_mut("content")) {
        if let Some([single]) = content.as_array_mut().map(Vec::as_mut_slice) {
            *content = single.take();
        }
    }
}
