//! What programs printed, byte for byte.

use mcp::{Context, Error, ResourceContents, ResourceResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::backend::Backend;
use crate::tools::owner;

pub(crate) const OUTPUT: &str = "command://jobs/{job_id}/{stream}";
pub(crate) const OUTPUT_FROM: &str = "command://jobs/{job_id}/{stream}/{offset}";

/// Of one answer.
const MAX_BYTES: usize = 1024 * 1024;

/// The first MiB a job printed; `stream` is stdout or stderr.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Output {
    job_id: String,
    stream: String,
}

/// A MiB of what a job printed, from byte `offset` on.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OutputFrom {
    job_id: String,
    stream: String,
    offset: u64,
}

pub(crate) async fn output(
    cx: Context<Backend>,
    input: Output,
) -> ResourceResult<ResourceContents> {
    read(&cx, &input.job_id, &input.stream, 0).await
}

pub(crate) async fn output_from(
    cx: Context<Backend>,
    input: OutputFrom,
) -> ResourceResult<ResourceContents> {
    read(&cx, &input.job_id, &input.stream, input.offset).await
}

async fn read(
    cx: &Context<Backend>,
    job_id: &str,
    stream: &str,
    offset: u64,
) -> ResourceResult<ResourceContents> {
    let missing = || Error::resource_not_found(cx.subject());
    let job = cx.state.job(job_id, &owner(cx)).map_err(|_| missing())?;
    let stream = job.stream(stream).ok_or_else(missing)?;
    if offset > stream.totals().bytes {
        return Err(missing());
    }
    let part = cx.blocking(move || stream.part(offset, MAX_BYTES)).await;
    // What is not kept any more must not be passed off as something else.
    if part.offset != offset {
        return Err(missing());
    }
    Ok(match cx.state.harmless(&part.bytes) {
        Some(text) => ResourceContents::text(cx.subject(), "text/plain", text),
        None => ResourceContents::blob(cx.subject(), "application/octet-stream", &part.bytes),
    })
}
