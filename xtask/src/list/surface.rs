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
        let mut surface = Self {
            tools: list("tools", "tools/list", "tools")?,
            resources: list("resources", "resources/list", "resources")?,
            templates: list("resources", "resources/templates/list", "resourceTemplates")?,
            prompts: list("prompts", "prompts/list", "prompts")?,
        };
        session.close()?;
        surface.forget_data();
        Ok(surface)
    }

    /// Resources that a template leads to as well are the data the server was started with, not
    /// what it offers whatever the data.
    fn forget_data(&mut self) {
        let text =
            |item: &Value, key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let prefixes: Vec<String> = self
            .templates
            .iter()
            .filter_map(|template| {
                text(template, "uriTemplate")?.split('{').next().map(str::to_owned)
            })
            .collect();
        let is_data = |resource: &Value| {
            text(resource, "uri")
                .is_some_and(|uri| prefixes.iter().any(|prefix| uri.starts_with(prefix)))
        };
        self.resources.retain(|resource| !is_data(resource));
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
