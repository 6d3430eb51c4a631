//! All that a running server offers to a client, read from its own lists.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::session::Session;

pub(crate) struct Surface {
    pub(crate) tools: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
}

impl Surface {
    pub(crate) fn read(command: &[String]) -> Result<Self> {
        let mut session = Session::start(command)?;
        let answer = session.initialize()?;
        let mut list = |capability: &str, method: &str, key: &str| {
            let declared = answer.pointer(&format!("/capabilities/{capability}")).is_some();
            if declared { all_pages(&mut session, method, key) } else { Ok(Vec::new()) }
        };
        let surface = Self {
            tools: list("tools", "tools/list", "tools")?,
            resources: list("resources", "resources/list", "resources")?,
            templates: list("resources", "resources/templates/list", "resourceTemplates")?,
            prompts: list("prompts", "prompts/list", "prompts")?,
        };
        session.close()?;
        Ok(surface)
    }

    /// Whatever changes here changes what every client sees; the snapshot makes that a reviewed
    /// change.
    pub(crate) fn snapshot(&self) -> Result<String> {
        let lists = json!({
            "tools": self.tools,
            "resources": self.resources,
            "resourceTemplates": self.templates,
            "prompts": self.prompts,
        });
        Ok(serde_json::to_string_pretty(&lists)? + "\n")
    }
}

fn all_pages(session: &mut Session, method: &str, key: &str) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    let mut params = json!({});
    loop {
        let page = session.request(method, params)?;
        let listed = page.get(key).and_then(Value::as_array);
        items.extend(listed.with_context(|| format!("{method} answered without `{key}`"))?.clone());
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(items),
        }
    }
}
