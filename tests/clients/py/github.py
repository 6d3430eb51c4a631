"""The life of an issue, from its creation to the bulk change that closes it, against an emulated
GitHub. Before a comment is deleted and many issues are changed the server asks, and the client
says yes.
"""

import re

from mcp.types import PromptReference, ResourceTemplateReference

REPO = "github://{owner}/{repo}"


async def github(era, client, step):
    async def call(name, arguments, *words):
        result = await client.call_tool(name, arguments)
        text = result.content[0].text
        missing = [word for word in words if word not in text]
        assert not result.is_error and not missing, f"{name}: no {missing} in {text}"
        return result

    async def text(name, arguments, *words):
        return (await call(name, arguments, *words)).content[0].text

    async def update(fields, *words):
        await call("issue_update", {"number": number, **fields})
        return await text("issue_get", {"number": number}, *words)

    label, other, milestone = f"bug/ui: 🐛 &?# {era}", f"later {era}", f"v1 {era}"
    title = f"Crash on start, {era}"
    body = "Returns Promise<string>\r\n\r\n- [ ] find it\r\n- [ ] mend it"
    create = {"title": title, "body": body, "labels": [label]}

    with step(era, "see who it is"):
        await call("github_status", {}, "@octocat", "core:")
    with step(era, "make labels and a milestone"):
        for name in [label, other]:
            await call("label_manage", {"action": "create", "name": name, "color": "d73a4a"})
        await call("milestone_manage", {"action": "create", "title": milestone})
    with step(era, "create"):
        made = (await call("github_create_issue", create)).structured_content
        again = (await call("github_create_issue", create)).structured_content
        assert (made["done"], again["done"]) == ("created", "was there already"), (made, again)
        number = made["number"]
        assert again["number"] == number, again
    with step(era, "list"):
        await call("issue_list", {"labels": [label]}, f"#{number} open", title)
    with step(era, "comment"):
        await call("issue_comment", {"action": "add", "number": number, "body": "Me too."}, "added")
        shown = await text("issue_comment", {"action": "list", "number": number}, "Me too.")
        comment = int(re.search(r"comment (\d+) by", shown)[1])
        await call("issue_comment", {"action": "edit", "comment_id": comment, "body": "Me three."})
        await call("issue_comment", {"action": "list", "number": number}, "Me three.")
        await call("issue_comment", {"action": "delete", "comment_id": comment}, "deleted")
        await call("issue_get", {"number": number}, " 0c ")
    with step(era, "tick a box"):
        edits = [{"op": "check", "find": "find it"}]
        await call("issue_edit_body", {"number": number, "edits": edits}, "changed")
        await call("issue_get", {"number": number}, "- [x] find it\r\n- [ ] mend it")
    with step(era, "label"):
        await update({"add_labels": [other], "remove_labels": [label]}, f" {other} ")
    with step(era, "set the milestone"):
        await update({"milestone": milestone, "assignees": ["octocat"]}, milestone, "→octocat")
    with step(era, "clear it"):
        shown = await update({"milestone": None, "assignees": [], "labels": []}, "unassigned")
        assert milestone not in shown and other not in shown, shown
    with step(era, "close"):
        await update({"state": "closed", "state_reason": "not_planned"}, "closed(not_planned)")
    with step(era, "reopen"):
        await update({"state": "open", "add_labels": [label]}, " open ")
    with step(era, "search"):
        await call("issue_search", {"query": f'"{title}" in:title'}, f"#{number} open")
    with step(era, "lock"):
        await update({"locked": True, "lock_reason": "resolved"}, ", locked")
    with step(era, "unlock"):
        assert ", locked" not in await update({"locked": False})
    with step(era, "triage"):
        change = {"numbers": [number], "add_labels": [other], "state": "closed"}
        planned = await text("issue_triage", change)
        await call("issue_get", {"number": number}, " open ")
        plan = re.search(r"to apply: plan (\w+)", planned)[1]
        done = await text("issue_triage", {"plan": plan}, f"#{number} ")
        await call("issue_get", {"number": number}, " closed ", other)
        await call("issue_triage", {"plan": re.search(r"to undo: plan (\w+)", done)[1]})
        await call("issue_get", {"number": number}, " open ")
    with step(era, "read the issue as a resource"):
        uri = f"github://octocat/hello/issues/{number}"
        contents = (await client.read_resource(uri)).contents
        assert title in contents[0].text, contents
    with step(era, "complete a label"):
        ref = ResourceTemplateReference(type="ref/resource", uri=f"{REPO}/labels/{{label}}")
        chosen = {"owner": "octocat", "repo": "hello"}
        asked = {"name": "label", "value": "BUG"}
        completion = (await client.complete(ref, asked, chosen)).completion
        assert label in completion.values, completion
        ref = PromptReference(type="ref/prompt", name="triage_inbox")
        completion = (await client.complete(ref, asked)).completion
        assert label in completion.values, completion
    with step(era, "get the inbox"):
        messages = (await client.get_prompt("triage_inbox", {"label": label})).messages
        assert title in messages[0].content.text, messages
