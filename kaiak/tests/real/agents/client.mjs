// A client that sends one request `kaiak/generate_fix` to a socket, answers no question, and prints each method that it
// receives.
//
//     node client.mjs SOCKET SESSION
import { connect } from "node:net";

const [path, session_id] = process.argv.slice(2);
const incident = { id: "1", rule_id: "servlet-import", message: "m", description: "", effort: "", severity: "info" };
const params = { command: "kaiak/generate_fix", arguments: [{ session_id, incidents: [incident] }] };
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "workspace/executeCommand", params });
const socket = connect(path, () => socket.write(`Content-Length: ${body.length}\r\n\r\n${body}`));
socket.setEncoding("utf8").on("data", (text) => {
  for (const [, method] of text.matchAll(/"method":"([^"]*)"/g)) console.log(method);
});
