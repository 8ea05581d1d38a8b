// Converts a message to text for other programs: a command, or a test. Params and results are copied as text, without
// parsing them, so that no value changes.
import { childrenOf, type JsonNode, rootOf } from "./json-text";

/** Returns the texts of the members of an object, by name. The last of repeated members is used, as in JSON.parse. */
export function membersOf(text: string): Map<string, string> {
  const root = rootOf(text);
  const members = new Map<string, string>();
  if (root.kind !== "object") return members;
  for (const node of childrenOf(text, root, 100).nodes) members.set(nameOf(node), text.slice(node.start, node.end));
  return members;
}

function nameOf({ key }: JsonNode): string {
  try {
    return String(JSON.parse(String(key)));
  } catch {
    return String(key);
  }
}

/** Returns the command that sends a request or a notification, or undefined for another message. */
export function portwayCall(text: string, address: string): string | undefined {
  const members = membersOf(text);
  const method = stringOf(members.get("method"));
  if (method === undefined) return undefined;
  const words = ["portway", "call", shellWord(method)];
  const params = members.get("params");
  if (params !== undefined) words.push(shellWord(params));
  if (!members.has("id")) words.push("--notify");
  words.push("--ws", shellWord(address));
  return words.join(" ");
}

/** Returns a test that sends the request. If there is a response, the test expects its result or its error code. */
export function testOf(request: string, response: string | undefined, address: string): string | undefined {
  const members = membersOf(request);
  const method = stringOf(members.get("method"));
  if (method === undefined || !members.has("id")) return undefined;
  const params = members.get("params");
  const call = `client.request(${JSON.stringify(method)}${params === undefined ? "" : `, ${params}`})`;
  const answer = response === undefined ? undefined : membersOf(response);
  const [result, error] = [answer?.get("result"), answer?.get("error")];
  const code = error === undefined ? undefined : membersOf(error).get("code");
  const check =
    code !== undefined
      ? `  await assert.rejects(${call}, { code: ${code} });`
      : result !== undefined
        ? `  assert.deepEqual(await ${call}, ${result});`
        : `  await ${call};`;
  return `import assert from "node:assert/strict";
import test from "node:test";
import init, { JSONRPCClient } from "portway";
import { webSocketTransport } from "portway/websocket";
import WebSocket from "ws";

test(${JSON.stringify(method)}, async (t) => {
  await init();
  const client = new JSONRPCClient(webSocketTransport(${JSON.stringify(address)}, { WebSocket }));
  t.after(() => client.destroy());
${check}
});
`;
}

function stringOf(json: string | undefined): string | undefined {
  if (!json?.startsWith('"')) return undefined;
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Returns one word for a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
