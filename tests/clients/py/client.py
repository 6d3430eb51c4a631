"""The official Python SDK, in every way it can open a connection.

Usage: client.py COMMAND [ARGUMENT…], or client.py URL. Prints `ok <step>` for each step; the first that fails ends
the process with its reason.
"""

import json
import sys
from contextlib import contextmanager

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    ResourceTemplateReference,
    Root,
    TextContent,
)

from github import github

RUN_LIMIT_SECS = 60
ROOT = "file:///srv/kitchen"


@contextmanager
def said_where(label):
    """A failure anywhere inside names what was being done."""
    try:
        yield
    except BaseException:
        print(f"FAILED {label}", file=sys.stderr, flush=True)
        raise


@contextmanager
def step(era, name):
    with said_where(f"{era}: {name}"):
        yield
    print(f"ok {era}: {name}", flush=True)


async def main():
    command, *args = sys.argv[1:]
    over_http = command.startswith("http://")
    server = command if over_http else StdioServerParameters(command=command, args=args)
    for mode, revision in [("legacy", "2025-11-25"), ("2026-07-28",) * 2, ("auto", "2026-07-28")]:
        with said_where(mode), anyio.fail_after(RUN_LIMIT_SECS):
            async with Client(server, mode=mode, cache=None, **ANSWERS) as client:
                await drive(mode, revision, client)


async def drive(era, revision, client):
    with step(era, "connect"):
        assert client.protocol_version == revision, client.protocol_version
    with step(era, "list tools"):
        names = [tool.name for tool in (await client.list_tools()).tools]
    if "calculate_sum" in names:
        await calculator(era, client)
    elif "analyze_csv" in names:
        await csv(era, client)
    elif "github_create_issue" in names:
        await github(era, client, step)
    elif "test_simple_text" in names:
        await everything(era, client)
    else:
        assert "ask_form" in names, names
        await asker(era, client)


async def calculator(era, client):
    with step(era, "list resources"):
        resources = (await client.list_resources()).resources
        assert [str(item.uri) for item in resources] == ["calculator://countdowns"], resources
        templates = (await client.list_resource_templates()).resource_templates
        uris = [item.uri_template for item in templates]
        assert uris == ["calculator://times-table/{number}"], uris
    with step(era, "list prompts"):
        prompts = (await client.list_prompts()).prompts
        assert [item.name for item in prompts] == ["explain_sum"], prompts
    with step(era, "call calculate_sum"):
        await add(client, 2, 3)
    with step(era, "see a tool error"):
        result = await client.call_tool("calculate_sum", {"a": "two", "b": 3})
        assert result.is_error, result
    with step(era, "read a template resource"):
        contents = (await client.read_resource("calculator://times-table/7")).contents
        assert "49" in contents[0].text, contents
    with step(era, "complete a template argument"):
        ref = ResourceTemplateReference(
            type="ref/resource", uri="calculator://times-table/{number}"
        )
        completion = (await client.complete(ref, {"name": "number", "value": "9"})).completion
        assert "9" in completion.values, completion
    with step(era, "get a prompt"):
        prompt = await client.get_prompt("explain_sum", {"a": "2", "b": "3"})
        assert prompt.messages, prompt
    with step(era, "see progress"):
        await progress(client)
    with step(era, "cancel"):
        await cancel(client)
    with step(era, "call after the cancelled one"):
        await add(client, 20, 22)
    with step(era, "answer before a long result is shown"):
        result = await client.call_tool("calculate_power", {"base": 10, "exponent": 40})
        assert result.structured_content == {"digits": str(10**40)}, result
    with step(era, "answer for the model"):
        result = await client.call_tool("explain_number", {"number": 7})
        assert result.content[0].text == "In one sentence: what is special about 7? soup", result


async def csv(era, client):
    with step(era, "call analyze_csv"):
        arguments = {"filepath": "numbers.csv", "operations": ["sum", "average", "count"]}
        result = await client.call_tool("analyze_csv", arguments)
        assert not result.is_error, result
        # The amounts are 1.5 and 2.25.
        for number in ["3.75", "1.875"]:
            assert number in json.dumps(result.structured_content), result
    with step(era, "be refused another folder"):
        arguments = {"filepath": "../numbers.csv", "operations": ["count"]}
        assert (await client.call_tool("analyze_csv", arguments)).is_error


async def everything(era, client):
    with step(era, "be greeted"):
        result = await client.call_tool("greet", {"name": "you"})
        assert result.content[0].text == "Hello, you!", result
    with step(era, "see a picture"):
        result = await client.call_tool("test_image_content", {})
        assert result.content[0].mime_type == "image/png", result
    with step(era, "see a failure"):
        assert (await client.call_tool("test_error_handling", {})).is_error
    with step(era, "read a resource"):
        contents = (await client.read_resource("test://static-text")).contents
        assert contents[0].mime_type == "text/plain", contents
    with step(era, "get a prompt"):
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert prompt.messages[0].role == "user", prompt
    with step(era, "complete a template argument"):
        ref = ResourceTemplateReference(type="ref/resource", uri="test://template/{id}/data")
        completion = (await client.complete(ref, {"name": "id", "value": "12"})).completion
        assert completion.values, completion
    with step(era, "answer for the model"):
        result = await client.call_tool("test_sampling", {"prompt": "Which dish?"})
        assert "soup" in result.content[0].text, result
    with step(era, "answer with roots"):
        result = await client.call_tool("test_input_required_result_list_roots", {})
        assert ROOT in result.content[0].text, result


async def asker(era, client):
    """The server asks back; the functions in ANSWERS say what this client answers."""
    with step(era, "answer a sampling request"):
        result = await client.call_tool("ask_model", {"question": "Which dish?"})
        said = {"text": "Which dish? soup", "model": "test-model"}
        assert result.structured_content == said, result
    with step(era, "answer with roots"):
        result = await client.call_tool("ask_roots", {})
        assert result.structured_content == {"uris": [ROOT]}, result
    with step(era, "fill in a form"):
        result = await client.call_tool("ask_form", {"message": "Order!"})
        order = {"dish": "cake", "portions": 2, "hot": True}
        assert result.structured_content == {"action": "accept", "order": order}, result
    for action in ["decline", "cancel"]:
        with step(era, f"{action} a form"):
            result = await client.call_tool("ask_form", {"message": action})
            assert result.structured_content == {"action": action, "order": None}, result
    with step(era, "answer three questions of one call"):
        result = await client.call_tool("ask_in_turn", {})
        answers = {"said": "Suggest a dish. soup", "agreed": True, "uris": [ROOT]}
        assert result.structured_content == answers, result


async def fill_in(context, params):
    if params.message in ["decline", "cancel"]:
        return ElicitResult(action=params.message)
    known = {"dish": "cake", "portions": 2, "yes": True, "show": True, "go_ahead": True}
    asked = params.requested_schema["properties"]
    content = {name: value for name, value in known.items() if name in asked}
    return ElicitResult(action="accept", content=content)


async def sample(context, params):
    content = params.messages[0].content
    asked = (content[0] if isinstance(content, list) else content).text
    answer = TextContent(type="text", text=f"{asked} soup")
    return CreateMessageResult(role="assistant", model="test-model", content=answer)


async def list_roots(context):
    return ListRootsResult(roots=[Root(uri=ROOT, name="kitchen")])


ANSWERS = {
    "elicitation_callback": fill_in,
    "sampling_callback": sample,
    "list_roots_callback": list_roots,
}


async def add(client, a, b):
    result = await client.call_tool("calculate_sum", {"a": a, "b": b})
    assert result.structured_content == {"sum": a + b}, result


async def progress(client):
    seen = []

    async def on_progress(done, total, message):
        seen.append(done)

    arguments = {"from": 3, "tick_ms": 100}
    result = await client.call_tool("countdown", arguments, progress_callback=on_progress)
    assert result.structured_content == {"ticks": 3}, result
    # An update read in one piece with the answer may be dropped, so the last may be missing.
    assert seen and seen == [1, 2, 3][: len(seen)], seen


async def cancel(client):
    """Cancels once the call is seen to run, then waits until the server says it runs no more."""
    with anyio.CancelScope() as scope:

        async def on_progress(done, total, message):
            scope.cancel()

        arguments = {"from": 3600, "tick_ms": 10}
        await client.call_tool("countdown", arguments, progress_callback=on_progress)
    assert scope.cancelled_caught, "an answer came"
    while True:
        contents = (await client.read_resource("calculator://countdowns")).contents
        if json.loads(contents[0].text)["running"] == 0:
            return


anyio.run(main)
