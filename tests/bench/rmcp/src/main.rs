//! The two bench tools on `rmcp`, over its fastest stdio transport, wired as its own documentation
//! does. Measured beside our servers in the same run, so that a busy machine slows both.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServiceExt, schemars, tool, tool_router};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Bench.serve(stdio_pipes()).await?;
    service.waiting().await?;
    Ok(())
}

#[derive(Clone)]
struct Bench;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SumInput {
    a: f64,
    b: f64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct SumOutput {
    sum: f64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoInput {
    message: String,
}

#[tool_router(server_handler)]
impl Bench {
    /// Structured output, because our `calculate_sum` carries it too.
    #[tool(description = "Add two numbers")]
    fn calculate_sum(&self, Parameters(input): Parameters<SumInput>) -> Json<SumOutput> {
        Json(SumOutput { sum: input.a + input.b })
    }

    #[tool(description = "Return the message")]
    fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.message
    }
}
