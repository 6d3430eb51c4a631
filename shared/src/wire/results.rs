//! Writes results, each in the words of the revision it is for.

use super::object::{Object, write_json};
use super::{modern, tasks};
use crate::answer::{Answer, Page};
use crate::ask::Question;
use crate::content::Content;
use crate::jsonrpc::Id;
use crate::prompt::PromptMessage;
use crate::registry::{List, Registry};
use crate::resource::CacheHint;
use crate::revision::Revision;
use crate::tool::Reply;
use crate::wire::items::{downlevel, write_resource_contents};

/// A client is never sent more suggestions than this at a time (all revisions).
const MAX_COMPLETIONS: usize = 100;

pub(super) fn write(
    result: &mut Object<'_>,
    registry: &Registry,
    revision: Revision,
    id: &Id<'_>,
    answer: &Answer,
) {
    match answer {
        Answer::Done | Answer::ListenEnded => {}
        Answer::Initialized(revision) => initialized(result, registry, *revision),
        Answer::Discovered => discovered(result, registry, revision),
        Answer::Page(page) => write_page(result, revision, page),
        Answer::Called(reply) => called(result, revision, reply),
        Answer::Read { contents, cache } => {
            result.array("contents", contents, write_resource_contents);
            cache_hint(result, revision, *cache);
        }
        Answer::Prompted { description, messages } => {
            result.optional("description", description.as_ref());
            result
                .array("messages", messages, |out, message| prompt_message(out, revision, message));
        }
        Answer::Completed(values) => completed(result, values),
        Answer::InputRequired { requests, state } => input_required(result, requests, state),
        Answer::TaskCreated(task) => tasks::created(result, revision, task),
        Answer::Task(task) => tasks::shown(result, registry, revision, task),
        // The response has the shape of another one; see `write_outcome`.
        Answer::TaskResult(_) => {}
        Answer::Tasks { tasks, next_cursor } => {
            result.array("tasks", tasks, |out, task| {
                Object::write(out, |object| tasks::members(object, revision, task));
            });
            result.optional("nextCursor", next_cursor.as_ref());
        }
    }
    if revision.is_stateless() {
        let result_type = match answer {
            Answer::InputRequired { .. } => "input_required",
            Answer::TaskCreated(_) => "task",
            _ => "complete",
        };
        result.field("resultType", result_type);
        let listen = matches!(answer, Answer::ListenEnded).then_some(id);
        modern::write_result_meta(result, |info| implementation(info, revision, registry), listen);
    }
}

fn initialized(result: &mut Object<'_>, registry: &Registry, revision: Revision) {
    result.field("protocolVersion", &revision);
    result.object("capabilities", |object| capabilities(object, registry, revision));
    result.object("serverInfo", |info| implementation(info, revision, registry));
    result.optional("instructions", registry.instructions.as_ref());
}

fn discovered(result: &mut Object<'_>, registry: &Registry, revision: Revision) {
    // Only revisions that can be spoken through this envelope; the others need `initialize`.
    result.field("supportedVersions", &[Revision::V2026_07_28]);
    result.object("capabilities", |object| capabilities(object, registry, revision));
    result.optional("instructions", registry.instructions.as_ref());
    cache_hint(result, revision, registry.list_cache);
}

fn implementation(info: &mut Object<'_>, revision: Revision, registry: &Registry) {
    info.field("name", &registry.name);
    if revision.has_titles() {
        info.optional("title", registry.title.as_ref());
    }
    info.field("version", &registry.version);
}

fn capabilities(object: &mut Object<'_>, registry: &Registry, revision: Revision) {
    let list_changed = |capability: &mut Object<'_>, changes: bool| {
        if changes {
            capability.field("listChanged", &true);
        }
    };
    if registry.has_list(List::Tools) {
        object.object("tools", |tools| list_changed(tools, registry.tools_change));
    }
    if registry.has_resources() {
        object.object("resources", |resources| {
            resources.field("subscribe", &true);
            list_changed(resources, registry.list_resources.is_some());
        });
    }
    if registry.has_list(List::Prompts) {
        object.object("prompts", |prompts| list_changed(prompts, registry.prompts_change));
    }
    if !registry.completions.is_empty() && revision.has_completions_capability() {
        object.object("completions", |_| {});
    }
    object.object("logging", |_| {});
    if registry.has_tasks() {
        task_capabilities(object, revision);
    }
}

fn task_capabilities(object: &mut Object<'_>, revision: Revision) {
    if revision.is_stateless() {
        object.object("extensions", |extensions| extensions.object(tasks::EXTENSION, |_| {}));
    } else if revision.has_tasks() {
        object.object("tasks", |capability| {
            capability.object("list", |_| {});
            capability.object("cancel", |_| {});
            capability.object("requests", |requests| {
                requests.object("tools", |tools| tools.object("call", |_| {}));
            });
        });
    }
}

fn write_page(result: &mut Object<'_>, revision: Revision, page: &Page) {
    let name = match page.list {
        List::Tools => "tools",
        List::Resources => "resources",
        List::Templates => "resourceTemplates",
        List::Prompts => "prompts",
    };
    let items = page.items.get(page.range.clone()).unwrap_or_default();
    result.array(name, items, |out, item| out.extend_from_slice(item.json.get().as_bytes()));
    result.optional("nextCursor", page.next_cursor.as_ref());
    cache_hint(result, revision, page.cache);
}

fn cache_hint(result: &mut Object<'_>, revision: Revision, cache: CacheHint) {
    if revision.is_stateless() {
        result.field("ttlMs", &cache.ttl_ms);
        result.field("cacheScope", if cache.public { "public" } else { "private" });
    }
}

fn called(result: &mut Object<'_>, revision: Revision, reply: &Reply) {
    match &reply.structured {
        // Clients without structured content, and models, read the same JSON as text.
        Some(json) if reply.content.is_empty() => {
            result.array("content", [json], |out, json| {
                Object::write(out, |block| {
                    block.field("type", "text");
                    block.field("text", json);
                });
            });
        }
        _ => result
            .array("content", &reply.content, |out, content| write_content(out, revision, content)),
    }
    if let Some(json) = reply.structured.as_ref().filter(|_| revision.has_structured_content()) {
        if reply.wraps_structured && revision.wants_structured_object() {
            result.object("structuredContent", |wrapped| wrapped.raw("result", json));
        } else {
            result.raw("structuredContent", json);
        }
    }
    if reply.is_error {
        result.field("isError", &true);
    }
}

fn prompt_message(out: &mut Vec<u8>, revision: Revision, message: &PromptMessage) {
    Object::write(out, |object| {
        object.field("role", &message.role);
        object.field("content", &downlevel(revision, &message.content));
    });
}

fn write_content(out: &mut Vec<u8>, revision: Revision, content: &Content) {
    write_json(out, &downlevel(revision, content));
}

fn input_required(result: &mut Object<'_>, requests: &[(String, Question)], state: &str) {
    input_requests(result, requests);
    result.field("requestState", state);
}

pub(super) fn input_requests(result: &mut Object<'_>, requests: &[(String, Question)]) {
    result.object("inputRequests", |entries| {
        for (key, question) in requests {
            entries.object(key, |request| {
                request.field("method", question.method);
                request.field("params", &question.params);
            });
        }
    });
}

fn completed(result: &mut Object<'_>, values: &[String]) {
    let shown = values.get(..MAX_COMPLETIONS).unwrap_or(values);
    result.object("completion", |completion| {
        completion.field("values", shown);
        completion.field("total", &values.len());
        completion.field("hasMore", &(shown.len() < values.len()));
    });
}
