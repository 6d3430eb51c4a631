//! The bench tools over `rmcp`'s fastest stdio transport. Measured beside our servers in the same run,
//! so that a busy machine slows both.

mod tools;

use rmcp::ServiceExt;
use rmcp::transport::io::stdio_pipes;
use tools::Bench;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Bench.serve(stdio_pipes()).await?;
    service.waiting().await?;
    Ok(())
}
