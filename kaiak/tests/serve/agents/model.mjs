// A stub of a model for gemini-cli (the API of Gemini) and qwen-code (the API of OpenAI). It asks the agent to read
// src/A.java and to edit this file, and then ends the turn. It prints the port on which it listens.
import { existsSync } from "node:fs";
import { createServer } from "node:http";

const EDIT = { old_string: "javax.servlet", new_string: "jakarta.servlet" };

/** Returns the next step of a conversation that has `results` results of tools. */
function step(results, body) {
  // The agents name several folders in their requests. Only the private copy contains the file.
  const folders = body.match(/\/[^"\s\\]*\/kaiak-[A-Za-z0-9]{6}/g) ?? [];
  const root = folders.find((folder) => existsSync(`${folder}/src/A.java`));
  const file = { file_path: `${root}/src/A.java`, absolute_path: `${root}/src/A.java` };
  if (!root || !body.includes("servlet-import") || results > 1) {
    return { text: "The import is replaced." };
  }
  if (results === 0) {
    return { name: "read_file", input: file };
  }
  const isGemini = body.includes('"name":"replace"');
  const instruction = isGemini ? { instruction: "Replace the import." } : {};
  return { name: isGemini ? "replace" : "edit", input: { ...file, ...EDIT, ...instruction } };
}

/** The response to the question of gemini-cli how complex the task is. gemini-cli selects a model by this response. */
const COMPLEXITY = JSON.stringify({ complexity_reasoning: "It is one edit.", complexity_score: 1 });

/** Returns the response to `body` in the format of Gemini. */
function gemini(body) {
  const parts = JSON.parse(body).contents.flatMap((content) => content.parts);
  const results = parts.filter((part) => part.functionResponse).length;
  const { name, input, text } = body.includes("complexity_score") ? { text: COMPLEXITY } : step(results, body);
  const content = { role: "model", parts: [name ? { functionCall: { name, args: input } } : { text }] };
  return { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata: { totalTokenCount: 1 } };
}

/** Returns the chunks of the response to `body` in the format of OpenAI. */
function openai(body) {
  const { messages } = JSON.parse(body);
  const { name, input, text } = step(messages.filter((message) => message.role === "tool").length, body);
  const call = { index: 0, id: `call_${messages.length}`, type: "function" };
  const tool_calls = [{ ...call, function: { name, arguments: JSON.stringify(input) } }];
  const delta = name ? { role: "assistant", tool_calls } : { role: "assistant", content: text };
  const chunk = (choice) => ({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] });
  const end = { index: 0, delta: {}, finish_reason: name ? "tool_calls" : "stop" };
  return [chunk({ index: 0, delta, finish_reason: null }), chunk(end)];
}

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
  }
  const isStream = request.url.includes("streamGenerateContent") || JSON.parse(body || "{}").stream;
  response.setHeader("Content-Type", isStream ? "text/event-stream" : "application/json");
  if (request.url.includes("countTokens")) {
    response.end('{"totalTokens":1}');
  } else if (request.url.includes("enerateContent")) {
    response.end(isStream ? event(gemini(body)) : JSON.stringify(gemini(body)));
  } else if (isStream) {
    response.end(`${openai(body).map(event).join("")}data: [DONE]\n\n`);
  } else {
    const message = { role: "assistant", content: "{}" };
    response.end(JSON.stringify({ id: "1", choices: [{ index: 0, message, finish_reason: "stop" }] }));
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
