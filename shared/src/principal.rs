//! Who a request comes from, where the transport can tell.

/// An authenticated caller (HTTP only). Everything that outlives a request, such as a session, a
/// cursor or a task, belongs to the principal it was made for and to nobody else.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The token's subject, or `token` where one shared token lets everybody in.
    pub name: String,
    /// What the token allows, in the authorization server's words.
    pub scopes: Vec<String>,
}

/// Another token of the same caller may allow something else; what is theirs stays theirs.
impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Principal {}
