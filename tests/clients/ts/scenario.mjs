// What a real client does with our servers, step by step, whatever SDK version it was built on.
// Prints `ok <step>` for each step; the first that fails ends the process with its reason.

import { github } from './github.mjs';

const STEP_LIMIT_MS = 30_000;

/**
 * Runs one connection's steps. `connect` gives a connected client of either SDK; `dialect` says
 * where they differ: how options are given to a call, and how to read past a cache.
 */
export async function drive(era, connect, dialect) {
  const step = stepper(era);
  const client = await step('connect', connect);
  const tools = await step('list tools', async () => (await client.listTools()).tools);
  const names = tools.map((tool) => tool.name);
  if (names.includes('calculate_sum')) {
    await calculator(client, step, dialect, era);
  } else if (names.includes('analyze_csv')) {
    await csv(client, step);
  } else if (names.includes('test_simple_text')) {
    await everything(client, step);
  } else if (names.includes('ask_form')) {
    await asker(client, step, era);
  } else if (names.includes('issue_triage')) {
    await github(client, step, era);
  } else {
    throw new Error(`none of the servers known here: ${names}`);
  }
  await step('close', () => client.close());
}

async function calculator(client, step, dialect, era) {
  await step('list resources', async () => {
    const { resources } = await client.listResources();
    expect(resources.map((item) => item.uri), ['calculator://countdowns']);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map((item) => item.uriTemplate), ['calculator://times-table/{number}']);
  });
  await step('list prompts', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map((item) => item.name), ['explain_sum']);
  });
  await step('call calculate_sum', () => sum(client, 2, 3));
  await step('see a tool error', async () => {
    const result = await client.callTool({ name: 'calculate_sum', arguments: { a: 'two', b: 3 } });
    expect(result.isError, true);
  });
  await step('read a template resource', async () => {
    const { contents } = await client.readResource({ uri: 'calculator://times-table/7' });
    if (!contents[0].text.includes('49')) throw new Error(contents[0].text);
  });
  await step('complete a template argument', async () => {
    const ref = { type: 'ref/resource', uri: 'calculator://times-table/{number}' };
    const { completion } = await client.complete({ ref, argument: { name: 'number', value: '9' } });
    if (!completion.values.includes('9')) throw new Error(JSON.stringify(completion));
  });
  await step('get a prompt', async () => {
    const prompt = await client.getPrompt({ name: 'explain_sum', arguments: { a: '2', b: '3' } });
    if (prompt.messages.length === 0) throw new Error('no messages');
  });
  await step('see progress', () => progress(client, dialect));
  await step('cancel', () => cancel(client, dialect));
  await step('call after the cancelled one', () => sum(client, 20, 22));
  await step('answer before a long result is shown', async () => {
    const call = { name: 'calculate_power', arguments: { base: 10, exponent: 40 } };
    const result = await client.callTool(call);
    if (WITHOUT_FORMS.includes(era)) expect(result.isError, true);
    else expect(structured(result), { digits: `1${'0'.repeat(40)}` });
  });
  await step('answer for the model', async () => {
    const call = { name: 'explain_number', arguments: { number: 7 } };
    const { content } = await client.callTool(call);
    expect(content[0].text, 'In one sentence: what is special about 7? soup');
  });
}

async function csv(client, step) {
  await step('call analyze_csv', async () => {
    const operations = ['sum', 'average', 'count'];
    const call = { name: 'analyze_csv', arguments: { filepath: 'numbers.csv', operations } };
    const result = await client.callTool(call);
    if (result.isError) throw new Error(JSON.stringify(result.content));
    // The amounts are 1.5 and 2.25.
    for (const number of ['3.75', '1.875']) {
      const found = JSON.stringify(structured(result)).includes(number);
      if (!found) throw new Error(`${number} is not in ${JSON.stringify(result)}`);
    }
  });
  await step('be refused another folder', async () => {
    const arguments_ = { filepath: '../numbers.csv', operations: ['count'] };
    const result = await client.callTool({ name: 'analyze_csv', arguments: arguments_ });
    expect(result.isError, true);
  });
}

/** The server asks back; `answers` below has what this client says. */
async function everything(client, step) {
  const call = async (name, arguments_ = {}) => client.callTool({ name, arguments: arguments_ });
  await step('be greeted', async () => {
    expect((await call('greet', { name: 'you' })).content[0].text, 'Hello, you!');
  });
  await step('see a picture', async () => {
    const [picture] = (await call('test_image_content')).content;
    expect([picture.type, picture.mimeType], ['image', 'image/png']);
  });
  await step('see a failure', async () => {
    expect((await call('test_error_handling')).isError, true);
  });
  await step('read a resource', async () => {
    const { contents } = await client.readResource({ uri: 'test://static-text' });
    expect(contents[0].mimeType, 'text/plain');
  });
  await step('get a prompt', async () => {
    const arguments_ = { arg1: 'a', arg2: 'b' };
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: arguments_ });
    expect(prompt.messages[0].role, 'user');
  });
  await step('complete a template argument', async () => {
    const ref = { type: 'ref/resource', uri: 'test://template/{id}/data' };
    const { completion } = await client.complete({ ref, argument: { name: 'id', value: '12' } });
    expect(completion.values.length > 0, true);
  });
  await step('answer for the model', async () => {
    const result = await call('test_sampling', { prompt: 'Which dish?' });
    expect(result.content[0].text.includes('soup'), true);
  });
  await step('answer with roots', async () => {
    const result = await call('test_input_required_result_list_roots');
    expect(result.content[0].text.includes(ROOT.uri), true);
  });
}

async function asker(client, step, era) {
  const call = async (name, arguments_ = {}) => client.callTool({ name, arguments: arguments_ });
  await step('answer a sampling request', async () => {
    const result = await call('ask_model', { question: 'Which dish?' });
    expect(structured(result), { text: 'Which dish? soup', model: 'test-model' });
  });
  await step('answer with roots', async () => {
    expect(structured(await call('ask_roots')), { uris: [ROOT.uri] });
  });
  if (WITHOUT_FORMS.includes(era)) {
    await step('see that this revision has no forms', async () => {
      const result = await call('ask_form', { message: 'Order!' });
      expect([result.isError, result.content[0].text.includes('elicitation')], [true, true]);
    });
    return;
  }
  await step('fill in a form', async () => {
    const result = structured(await call('ask_form', { message: 'Order!' }));
    expect(result, { action: 'accept', order: { dish: 'cake', portions: 2, hot: true } });
  });
  for (const action of ['decline', 'cancel']) {
    await step(`${action} a form`, async () => {
      expect(structured(await call('ask_form', { message: action })), { action, order: null });
    });
  }
  await step('answer three questions of one call', async () => {
    const result = structured(await call('ask_in_turn'));
    expect(result, { said: 'Suggest a dish. soup', agreed: true, uris: [ROOT.uri] });
  });
}

const WITHOUT_FORMS = ['2024-11-05', '2025-03-26'];

const ROOT = { uri: 'file:///srv/kitchen', name: 'kitchen' };

export const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** What a client answers to the questions of a server, by method. */
export const answers = {
  'elicitation/create': ({ params }) => {
    if (['decline', 'cancel'].includes(params.message)) return { action: params.message };
    const known = { dish: 'cake', portions: 2, yes: true, show: true, go_ahead: true };
    const asked = Object.entries(known).filter(([name]) => name in params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(asked) };
  },
  'sampling/createMessage': ({ params }) => {
    const asked = [params.messages[0].content].flat()[0].text;
    return { role: 'assistant', model: 'test-model', content: { type: 'text', text: `${asked} soup` } };
  },
  'roots/list': () => ({ roots: [ROOT] }),
};

async function sum(client, a, b) {
  const result = await client.callTool({ name: 'calculate_sum', arguments: { a, b } });
  expect(structured(result), { sum: a + b });
}

async function progress(client, dialect) {
  const seen = [];
  const onprogress = (update) => seen.push(update.progress);
  const call = { name: 'countdown', arguments: { from: 3, tick_ms: 100 } };
  const result = await client.callTool(call, ...dialect.callOptions({ onprogress }));
  expect(structured(result), { ticks: 3 });
  // An update read in one piece with the answer is dropped by both SDKs, so the last may be missing.
  if (seen.length === 0) throw new Error('no progress');
  expect(seen, [1, 2, 3].slice(0, seen.length));
}

/** Cancels once the call is seen to run, then waits until the server says it runs no more. */
async function cancel(client, dialect) {
  const controller = new AbortController();
  const call = { name: 'countdown', arguments: { from: 3600, tick_ms: 10 } };
  const options = { signal: controller.signal, onprogress: () => controller.abort('enough') };
  const answer = client.callTool(call, ...dialect.callOptions(options));
  const outcome = await answer.then(() => 'an answer', () => 'cancelled');
  expect(outcome, 'cancelled');
  for (;;) {
    const { contents } = await client.readResource({ uri: 'calculator://countdowns' }, dialect.uncached);
    if (JSON.parse(contents[0].text).running === 0) return;
  }
}

/** Before 2025-06-18 a result has no structured content; its text is the same JSON. */
function structured(result) {
  return result.structuredContent ?? JSON.parse(result.content[0].text);
}

function stepper(era) {
  return async (name, action) => {
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`not done in ${STEP_LIMIT_MS} ms`)), STEP_LIMIT_MS).unref();
    });
    try {
      const result = await Promise.race([action(), late]);
      console.log(`ok ${era}: ${name}`);
      return result;
    } catch (error) {
      console.error(`FAILED ${era}: ${name}: ${error?.stack ?? error}`);
      process.exit(1);
    }
  };
}

function expect(actual, expected) {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`got ${got}, wanted ${wanted}`);
}
