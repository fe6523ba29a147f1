// Calls the tools of a server over stdio with MCP's own client for Node.
// usage: mcp_stdio_client.mjs CALLS COMMAND [ARGUMENT…]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { emit } from "./show.mjs";

const [wanted, command, ...args] = process.argv.slice(2);
const progress = [];
const client = new Client({ name: "looms", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
const calls = [];
for (const [name, given] of JSON.parse(wanted)) {
  try {
    const onprogress = (seen) => progress.push([seen.progress, seen.total]);
    calls.push(await client.callTool({ name, arguments: given }, undefined, { onprogress }));
  } catch (error) {
    calls.push([error.code, error.message]);
  }
}
await client.close();
emit({ server: client.getServerVersion().name, tools: tools.map((tool) => tool.name), calls, progress });
