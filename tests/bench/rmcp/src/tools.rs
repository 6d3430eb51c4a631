//! The two bench tools on `rmcp`, wired as its own documentation does.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{schemars, tool, tool_router};

#[derive(Clone)]
pub struct Bench;

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
        Json(SumOutput {
            sum: input.a + input.b,
        })
    }

    #[tool(description = "Return the message")]
    fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.message
    }
}
