//! Roots: the directories the client says it works in. Advice, not a permission.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{AskError, Question};

/// A directory or file of the client's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// A `file://` URI.
    pub uri: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

pub(crate) fn question() -> Question {
    Question { method: "roots/list", params: json!({}), needs: &["roots"] }
}

pub(crate) fn read(answer: &Value) -> Result<Vec<Root>, AskError> {
    let malformed = |reason: String| Err(AskError::Malformed(reason));
    let Some(roots) = answer.get("roots") else {
        return malformed("`roots` is missing".to_owned());
    };
    let roots = match Vec::<Root>::deserialize(roots) {
        Ok(roots) => roots,
        Err(error) => return malformed(error.to_string()),
    };
    match roots.iter().find(|root| !root.uri.starts_with("file://")) {
        Some(root) => malformed(format!("{:?} is not a file:// URI", root.uri)),
        None => Ok(roots),
    }
}
