// A program with the Claude Agent SDK: one prompt, with tools.
import { query } from "@anthropic-ai/claude-agent-sdk";

const options = { permissionMode: "acceptEdits", allowedTools: ["Bash", "Write"] };
for await (const message of query({ prompt: process.env.PROMPT, options })) {
  console.log(message.type);
}
