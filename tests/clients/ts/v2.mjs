// The second official TypeScript SDK, in every way it can open a connection: the handshake at each
// revision, the modern revision pinned, and its own choice. Usage: node v2.mjs COMMAND [ARGUMENT…],
// or node v2.mjs URL
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, capabilities, drive } from './scenario.mjs';

const [command, ...args] = process.argv.slice(2);
const dialect = { callOptions: (options) => [options], uncached: { cacheMode: 'bypass' } };

for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  await connection(revision, revision, { supportedProtocolVersions: [revision] });
}
await connection('pinned', '2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await connection('auto', '2026-07-28', { versionNegotiation: { mode: 'auto' } });

function connection(era, revision, options) {
  const connect = async () => {
    const about = { name: 'real-client-v2', version: '1.0.0' };
    const client = new Client(about, { capabilities, ...options });
    for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
    const overHttp = command.startsWith('http://');
    await client.connect(
      overHttp
        ? new StreamableHTTPClientTransport(new URL(command))
        : new StdioClientTransport({ command, args }),
    );
    const negotiated = client.getNegotiatedProtocolVersion();
    if (negotiated !== revision) throw new Error(`negotiated ${negotiated}, wanted ${revision}`);
    return client;
  };
  return drive(era, connect, dialect);
}
