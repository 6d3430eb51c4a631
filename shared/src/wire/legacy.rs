//! What only the stateful revisions (2024-11-05 to 2025-11-25) have: the `initialize` handshake
//! and their error codes.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ask::AskError;
use crate::call::ClientInfo;
use crate::error::Error;
use crate::jsonrpc::code;
use crate::params::{Params, required};

/// What a client says in `initialize`.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) protocol_version: String,
    pub(crate) client: ClientInfo,
}

impl Handshake {
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Implementation {
            name: String,
            version: String,
        }
        let client: Implementation = required(params.client_info, "clientInfo")?;
        Ok(Self {
            protocol_version: required(params.protocol_version, "protocolVersion")?,
            client: ClientInfo {
                name: client.name,
                version: client.version,
                capabilities: required(params.capabilities, "capabilities")?,
            },
        })
    }
}

/// What the client says when it answers a question of ours with an error.
pub(crate) fn refusal_of_client(error: &RawValue) -> AskError {
    #[derive(Deserialize)]
    struct Wire {
        message: String,
    }
    match serde_json::from_str(error.get()) {
        Ok(Wire { message }) => AskError::Refused(message),
        Err(_) => AskError::Malformed("the error has no message".to_owned()),
    }
}

pub(super) fn code(error: &Error) -> i32 {
    match error {
        Error::MethodNotFound(_) => code::METHOD_NOT_FOUND,
        Error::InvalidRequest(_) | Error::HeaderMismatch(_) => code::INVALID_REQUEST,
        Error::InvalidParams(_) | Error::MissingEnvelope(_) => code::INVALID_PARAMS,
        Error::UnsupportedVersion(_) => code::INVALID_PARAMS,
        Error::ResourceNotFound(_) => code::RESOURCE_NOT_FOUND,
        Error::MissingCapability(_)
        | Error::Refused(_)
        | Error::RateLimited { .. }
        | Error::TimedOut(_)
        | Error::Internal(_) => code::INTERNAL_ERROR,
    }
}
