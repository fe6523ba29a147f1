// Uses the tools of `mcp_server.py` with MCP's own client for Node.
// usage: mcp_client.mjs WORD
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { emit } from "./show.mjs";

const progress = [];
const client = new Client({ name: "looms", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${process.env.LOOMREC_URL}/tools/mcp`)));

async function call(name, given) {
  const onprogress = name === "weave" ? (seen) => progress.push(seen) : undefined;
  try {
    const result = await client.callTool({ name, arguments: given }, undefined, { onprogress });
    return { is_error: result.isError ?? false, text: result.content.map((part) => part.text) };
  } catch (error) {
    return { error: [error.code, error.message] };
  }
}

const { tools } = await client.listTools();
const [word] = process.argv.slice(2);
const calls = [];
for (const [name, given] of [
  ["look_up", { word }],
  ["look_up", { word }],
  ["tear", { reason: "worn" }],
  ["weave", { rows: 3 }],
]) {
  calls.push(await call(name, given));
}
await client.ping();
await client.close();
emit({ tools: tools.map((tool) => tool.name), calls, progress });
