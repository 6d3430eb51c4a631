//! `describe_policy`.

use mcp::{Context, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Class, Guarantees};

/// Tell what may be run, where, and what the sandbox holds; or, for one command, whether it would
/// be run, by which rule, and what an operator would have to add. Runs nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribePolicy {
    /// A program to decide about.
    #[serde(default)]
    command: Option<String>,
    /// With these arguments.
    #[serde(default)]
    args: Vec<String>,
    /// In this directory.
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PolicyDescription {
    /// Directories commands may work in.
    roots: Vec<String>,
    /// Classes of programs that run.
    granted: Vec<Class>,
    /// Programs that run, by name.
    programs: Vec<String>,
    /// Variables a call may set.
    env: Vec<String>,
    /// Tells one policy from another.
    digest: String,
    /// What holds for a program of the class `data`.
    sandbox: Guarantees,
    /// About the command asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decided>,
}

#[derive(Serialize, JsonSchema)]
struct Decided {
    allowed: bool,
    /// Why not, and what an operator could add.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    /// The file that would be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// With what the policy puts in front.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    args: Vec<String>,
}

pub(crate) async fn describe_policy(
    cx: Context<Backend>,
    input: DescribePolicy,
) -> ToolResult<PolicyDescription> {
    let policy = cx.state.policy();
    let decision = input.command.map(|command| {
        match cx.state.decide(&command, &input.args, input.cwd.as_deref()) {
            Ok(decision) => Decided {
                allowed: true,
                refusal: None,
                rule: Some(decision.rule),
                class: Some(decision.class),
                program: Some(decision.found.path.display().to_string()),
                args: decision.args,
            },
            Err(refusal) => Decided {
                allowed: false,
                refusal: Some(refusal.to_string()),
                rule: None,
                class: None,
                program: None,
                args: Vec::new(),
            },
        }
    });
    let proved = cx.state.proved().await;
    let programs = policy.programs.iter().filter(|(_, program)| policy.allows(program));
    Ok(PolicyDescription {
        roots: cx.state.roots().iter().map(|root| root.display().to_string()).collect(),
        granted: policy.granted.iter().copied().collect(),
        programs: programs.map(|(name, _)| name.clone()).collect(),
        env: policy.allow_env.iter().cloned().collect(),
        digest: policy.digest.clone(),
        sandbox: cx.state.guarantees(proved, None),
        decision,
    })
}
