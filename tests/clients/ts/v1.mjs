// The first official TypeScript SDK. Usage: node v1.mjs COMMAND [ARGUMENT…]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { answers, capabilities, drive } from './scenario.mjs';

const [command, ...args] = process.argv.slice(2);

// The options follow a result schema here; this SDK keeps no cache.
const dialect = { callOptions: (options) => [undefined, options], uncached: {} };

const connect = async () => {
  const client = new Client({ name: 'real-client-v1', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);
  client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
  client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
};

await drive('initialize', connect, dialect);
