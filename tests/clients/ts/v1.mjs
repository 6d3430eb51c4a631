// The first official TypeScript SDK, on the pipes of a process or over HTTP in both of its forms.
// Usage: node v1.mjs COMMAND [ARGUMENT…], or node v1.mjs URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { answers, capabilities, drive } from './scenario.mjs';

const [command, ...args] = process.argv.slice(2);

// The options follow a result schema here; this SDK keeps no cache.
const dialect = { callOptions: (options) => [undefined, options], uncached: {} };

const connect = async (transport) => {
  const client = new Client({ name: 'real-client-v1', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);
  client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
  client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);
  await client.connect(transport);
  return client;
};

if (command.startsWith('http://')) {
  const streamable = () => new StreamableHTTPClientTransport(new URL(command));
  await drive('streamable', () => connect(streamable()), dialect);
  const pair = () => new SSEClientTransport(new URL('/sse', command));
  await drive('pair', () => connect(pair()), dialect);
} else {
  const pipes = () => new StdioClientTransport({ command, args });
  await drive('initialize', () => connect(pipes()), dialect);
}
