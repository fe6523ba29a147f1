// Calls a provider's own address by an agent of the program's own, as the AWS SDK for Node does.
import https from "node:https";
import { emit, failure } from "./show.mjs";

const agent = new https.Agent({ keepAlive: true });
https
  .get("https://api.openai.com/v1/models", { agent }, (answer) => emit({ status: answer.statusCode }))
  .on("error", (error) => emit(failure(error)));
