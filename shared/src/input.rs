//! Says what is wrong with a tool's arguments, so that the model can mend them itself.

use serde::de::DeserializeOwned;

use crate::error::ToolError;

/// Called once parsing `arguments` as an `I` has failed. It parses again, this time keeping
/// track of where it is, which would be wasted on arguments that are right.
pub(crate) fn explain<I: DeserializeOwned>(arguments: &str) -> ToolError {
    let mut json = serde_json::Deserializer::from_str(arguments);
    let Err(error) = serde_path_to_error::deserialize::<_, I>(&mut json) else {
        return ToolError::new("The arguments could not be read.");
    };
    let path = error.path().to_string();
    let reason = without_position(&error.into_inner().to_string());
    if path == "." {
        ToolError::new(format!("Invalid arguments: {reason}."))
    } else {
        ToolError::new(format!("Invalid argument `{path}`: {reason}."))
    }
}

/// "at line 1 column 8" counts bytes of a message the model never saw.
fn without_position(reason: &str) -> String {
    match reason.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => reason.to_owned(),
    }
}
