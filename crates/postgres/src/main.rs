//! Shows PostgreSQL databases to a model, read-only unless told otherwise.
//!
//! Reading order: this file (what there is), `tools.rs`, `tools/` and `resources.rs` (what the model
//! sees), `backend.rs` and `backend/` (how a query is kept from writing, and its rows from losing anything).

mod config;
mod tools;
mod resources;
mod backend;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use mcp::{DESTRUCTIVE, READ_ONLY, Server};

use crate::backend::Backend;
use crate::config::Config;

fn main() -> ExitCode {
    mcp::main(server)
}

/// The table of contents. The tests talk to exactly this value.
fn server(config: Config) -> anyhow::Result<Server<Backend>> {
    config.print_and_end()?;
    let password = config.password()?;
    let (limits, budget) = (config.limits(), config.budget());
    let backend = Backend::new(&config.urls, password.as_deref(), limits, budget)?;
    let watcher = backend.watcher(config.poll());
    let server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), backend)
        .title("PostgreSQL")
        .instructions(tools::INSTRUCTIONS)
        .tool("query", READ_ONLY.title("Run a query"), tools::query::query)
        .tool("fetch_rows", READ_ONLY.title("Fetch more rows"), tools::query::fetch_rows)
        .tool("explain_query", READ_ONLY.title("Explain a query"), tools::explain::explain_query)
        .tool("list_databases", READ_ONLY.title("List databases"), tools::look::list_databases)
        .tool("list_schemas", READ_ONLY.title("List schemas"), tools::look::list_schemas)
        .tool("list_objects", READ_ONLY.title("List objects"), tools::look::list_objects)
        .tool("search_objects", READ_ONLY.title("Search for objects"), tools::look::search_objects)
        .tool("describe_table", READ_ONLY.title("Describe a table"), tools::look::describe_table)
        .tool("top_queries", READ_ONLY.title("Find expensive queries"), tools::health::top_queries)
        .tool("database_health", READ_ONLY.title("Check health"), tools::health::database_health)
        .tool("index_advice", READ_ONLY.title("Advise on indexes"), tools::advice::index_advice)
        .tool("security_posture", READ_ONLY.title("Check rights"), tools::health::security_posture)
        .resource_list(resources::list)
        // The narrower form first: it also fits the other.
        .resource_template(resources::COLUMNS, resources::json("columns"), resources::columns)
        .resource_template(resources::PAGE, resources::json("rows"), resources::page)
        .resource_template(resources::COLUMN, resources::json("column"), resources::column)
        .resource_template(resources::TABLE, resources::json("table"), resources::table);
    tokio::spawn(resources::watch::watch(server.changes(), watcher));
    let server = resources::completed(server);
    Ok(if config.allow_write {
        server.tool("execute", DESTRUCTIVE.title("Change data"), tools::execute::execute)
    } else {
        server
    })
}
