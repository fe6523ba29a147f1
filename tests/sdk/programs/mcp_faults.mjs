// Calls a tool twice with MCP's own client for Node, between two lists of the tools: the arguments are the server's
// command over stdio, nothing for HTTP. Prints what each call and each list came to.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { emit } from "./show.mjs";

const PATIENCE = 3000; // milliseconds: the timeout of each call

async function seen(call, shown) {
  const began = performance.now();
  let came;
  try {
    came = shown(await call());
  } catch (error) {
    came = { class: error.constructor.name, code: error.code ?? null, message: error.message };
  }
  return { ...came, seconds: (performance.now() - began) / 1000 };
}

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "looms", version: "1" });
const transport = command
  ? new StdioClientTransport({ command, args })
  : new StreamableHTTPClientTransport(new URL(`${process.env.LOOMREC_URL}/tools/mcp`));
await client.connect(transport);
const options = { timeout: PATIENCE };
const tools = () =>
  seen(
    () => client.listTools(undefined, options),
    (list) => ({ tools: list.tools.map((tool) => tool.name) }),
  );
const call = () =>
  seen(
    () => client.callTool({ name: "look_up", arguments: { word: "weft" } }, undefined, options),
    (result) => ({ is_error: result.isError ?? false, text: result.content.map((part) => part.text ?? part.type) }),
  );
emit({ before: await tools(), calls: [await call(), await call()], after: await tools() });
await client.close();
