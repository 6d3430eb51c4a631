// The life of an issue, from its creation to the bulk change that closes it, as a client of the
// official SDKs leads it against an emulated GitHub.

const REPO = 'github://{owner}/{repo}';

export async function github(client, step, era) {
  const call = async (name, args, words = []) => {
    let result = await client.callTool({ name, arguments: args });
    // A client without forms is given a word to call again with.
    const word = /`confirm`: "(\w+)"/.exec(result.content[0].text)?.[1];
    if (result.isError && word) {
      result = await client.callTool({ name, arguments: { ...args, confirm: word } });
    }
    const text = result.content[0].text;
    const missing = [words].flat().filter((part) => !text.includes(part));
    if (result.isError || missing.length > 0) throw new Error(`${name}: no ${missing} in ${text}`);
    return text;
  };
  const [label, other, milestone] = [`bug/ui: 🐛 &?# ${era}`, `later ${era}`, `v1 ${era}`];
  const title = `Crash on start, ${era}`;
  const body = 'Returns Promise<string>\r\n\r\n- [ ] find it\r\n- [ ] mend it';
  const create = { title, body, labels: [label] };
  let number;
  const update = (fields, shown) => async () => {
    await call('issue_update', { number, ...fields });
    return call('issue_get', { number }, shown);
  };

  await step('see who it is', () => call('github_status', {}, ['@octocat', 'core:']));
  await step('make labels and a milestone', async () => {
    await call('label_manage', { action: 'create', name: label, color: 'd73a4a' });
    await call('label_manage', { action: 'create', name: other });
    await call('milestone_manage', { action: 'create', title: milestone, due_on: '2027-01-31' });
  });
  await step('create', async () => {
    const made = JSON.parse(await call('github_create_issue', create, 'created'));
    number = made.number;
    const again = JSON.parse(await call('github_create_issue', create, 'was there already'));
    if (again.number !== number) throw new Error(`#${again.number} and #${number}`);
  });
  await step('list', () => call('issue_list', { labels: [label] }, [`#${number} open`, title]));
  await step('comment', async () => {
    await call('issue_comment', { action: 'add', number, body: 'Me too.' }, 'added');
    const shown = await call('issue_get', { number, comments: 5 }, ['Promise<string>', 'Me too.', '1c']);
    const comment_id = Number(/comment (\d+) by/.exec(shown)[1]);
    await call('issue_comment', { action: 'edit', comment_id, body: 'Me three.' });
    await call('issue_get', { number, comments: 5 }, 'Me three.');
    await call('issue_comment', { action: 'delete', comment_id }, 'deleted');
    await call('issue_get', { number }, ' 0c ');
  });
  await step('tick a box', async () => {
    const edits = [{ op: 'check', find: 'find it' }];
    await call('issue_edit_body', { number, edits }, 'changed');
    await call('issue_get', { number }, '- [x] find it\r\n- [ ] mend it');
  });
  await step('label', update({ add_labels: [other], remove_labels: [label] }, ` ${other} `));
  await step('set the milestone', update({ milestone, assignees: ['octocat'] }, [`[${milestone}]`, '→octocat']));
  await step('clear it', async () => {
    const shown = await update({ milestone: null, assignees: [], labels: [] }, 'unassigned')();
    if (shown.includes(milestone) || shown.includes(other)) throw new Error(shown);
  });
  await step('close', update({ state: 'closed', state_reason: 'not_planned' }, 'closed(not_planned)'));
  await step('reopen', update({ state: 'open', state_reason: 'reopened', add_labels: [label] }, ' open '));
  await step('search', () => call('issue_search', { query: `"${title}" in:title` }, `#${number} open`));
  await step('lock', update({ locked: true, lock_reason: 'resolved' }, ', locked'));
  await step('unlock', update({ locked: false }));
  await step('triage', async () => {
    const plan = await call('issue_triage', { numbers: [number], add_labels: [other], state: 'closed', state_reason: 'completed' });
    await call('issue_get', { number }, ' open ');
    const done = await call('issue_triage', { plan: /to apply: plan (\w+)/.exec(plan)[1] }, `#${number} `);
    await call('issue_get', { number }, [' closed ', other]);
    await call('issue_triage', { plan: /to undo: plan (\w+)/.exec(done)[1] });
    await call('issue_get', { number }, ' open ');
  });
  await step('read the issue as a resource', async () => {
    const { contents } = await client.readResource({ uri: `github://octocat/hello/issues/${number}` });
    if (!contents[0].text.includes(title)) throw new Error(contents[0].text);
  });
  await step('complete a label', async () => {
    const ask = { ref: { type: 'ref/resource', uri: `${REPO}/labels/{label}` }, argument: { name: 'label', value: 'BUG' } };
    const { completion } = await client.complete({ ...ask, context: { arguments: { owner: 'octocat', repo: 'hello' } } });
    if (!completion.values.includes(label)) throw new Error(JSON.stringify(completion));
  });
  await step('get the inbox', async () => {
    const { messages } = await client.getPrompt({ name: 'triage_inbox', arguments: { label } });
    if (!messages[0].content.text.includes(title)) throw new Error(messages[0].content.text);
  });
}
