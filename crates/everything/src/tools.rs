//! What tools there are, and which file shows how each is made. A name that the official suite wants
//! twice, for two eras, is one handler here.

pub(crate) mod simple_text;
pub(crate) mod media;
pub(crate) mod embedded_resource;
pub(crate) mod multiple_content_types;
pub(crate) mod error_handling;
pub(crate) mod progress;
pub(crate) mod logging;
pub(crate) mod sampling;
pub(crate) mod elicitation;
pub(crate) mod open_url;
pub(crate) mod roots;
pub(crate) mod rounds;
pub(crate) mod lists_that_change;
pub(crate) mod reconnection;
pub(crate) mod headers;
pub(crate) mod schema;
pub(crate) mod tasks;

use mcp::{ADDITIVE, READ_ONLY, Server, Tasks};

use crate::backend::Backend;

pub(crate) fn add(server: Server<Backend>) -> Server<Backend> {
    server
        .tool("test_simple_text", READ_ONLY, simple_text::simple_text)
        .tool("test_image_content", READ_ONLY, media::image)
        .tool("test_audio_content", READ_ONLY, media::audio)
        .tool("test_embedded_resource", READ_ONLY, embedded_resource::embedded_resource)
        .tool("test_resource_link", READ_ONLY, embedded_resource::resource_link)
        .tool(
            "test_multiple_content_types",
            READ_ONLY,
            multiple_content_types::multiple_content_types,
        )
        .tool("test_error_handling", READ_ONLY, error_handling::error_handling)
        .tool("test_tool_with_progress", READ_ONLY, progress::progress)
        .tool("test_tool_with_logging", READ_ONLY, logging::logging)
        .tool("test_logging_tool", READ_ONLY, logging::logging)
        .tool("test_sampling", READ_ONLY, sampling::sampling)
        .tool("test_missing_capability", READ_ONLY, sampling::capital_question)
        .tool("test_input_required_result_sampling", READ_ONLY, sampling::capital_question)
        .tool("test_input_required_result_capabilities", READ_ONLY, sampling::capital_question)
        .tool("test_elicitation", READ_ONLY, elicitation::elicitation)
        .tool("test_elicitation_sep1034_defaults", READ_ONLY, elicitation::defaults)
        .tool("test_elicitation_sep1330_enums", READ_ONLY, elicitation::enums)
        .tool("test_elicitation_formats", READ_ONLY, elicitation::formats)
        .tool("test_streaming_elicitation", READ_ONLY, elicitation::name)
        .tool("test_input_required_result_elicitation", READ_ONLY, elicitation::name)
        .tool("test_elicitation_url", READ_ONLY, open_url::show_page)
        .tool("test_input_required_result_list_roots", READ_ONLY, roots::list_roots)
        .tool("test_input_required_result_request_state", READ_ONLY, rounds::confirm)
        .tool("test_input_required_result_tampered_state", READ_ONLY, rounds::confirm)
        .tool("test_single_use_state", READ_ONLY.single_use(), rounds::confirm)
        .tool("test_input_required_result_multiple_inputs", READ_ONLY, rounds::multiple_inputs)
        .tool("test_input_required_result_multi_round", READ_ONLY, rounds::multi_round)
        .tool("test_trigger_tool_change", ADDITIVE, lists_that_change::trigger_tool_change)
        .tool("test_trigger_prompt_change", ADDITIVE, lists_that_change::trigger_prompt_change)
        .tool("test_touch_resource", ADDITIVE, lists_that_change::touch_resource)
        .tool(lists_that_change::GUEST, READ_ONLY, lists_that_change::guest)
        .hide_tool(lists_that_change::GUEST)
        .tool("test_reconnection", READ_ONLY, reconnection::reconnection)
        .tool("test_custom_header", READ_ONLY, headers::custom_header)
        .tool("json_schema_2020_12_tool", ADDITIVE, schema::contact)
        .tool("greet", READ_ONLY, tasks::greet)
        .tool("slow_compute", READ_ONLY.tasks(Tasks::Also), tasks::slow_compute)
        .tool("failing_job", READ_ONLY.tasks(Tasks::Only), tasks::failing_job)
        .tool("protocol_error_job", READ_ONLY.tasks(Tasks::Also), tasks::protocol_error_job)
        .tool("confirm_delete", READ_ONLY.tasks(Tasks::Also), tasks::confirm_delete)
        .tool("multi_input", READ_ONLY.tasks(Tasks::Also), tasks::multi_input)
        .tool("test_tool_with_task", READ_ONLY.tasks(Tasks::Only), tasks::ask_then_work)
}
