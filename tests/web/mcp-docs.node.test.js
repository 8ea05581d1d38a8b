// Runs the programs in JavaScript of docs/mcp.md, with a server for the programs that use HTTP.

import { assert } from "chai";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterThisTest } from "./support/cleanup.js";
import { documentedPrograms } from "./support/documented-programs.js";

/** Answers a message as the servers in the document do. Returns a status and a body. */
function answer({ id, method, params }) {
  const result = (result) => [200, { jsonrpc: "2.0", id, result }];
  if (method === "add") return result(params[0] + params[1]);
  if (method === "server/discover") return result({ supportedVersions: ["2026-07-28"], capabilities: {} });
  if (params.name === "secret") return [403, {}];
  const { name } = params.inputResponses ?? {};
  if (name) return result({ content: [{ type: "text", text: `Hello ${name.content.name}` }] });
  const question = { method: "elicitation/create", params: { message: "What is your name?" } };
  return result({ resultType: "input_required", inputRequests: { name: question } });
}

async function serve(port) {
  const server = createServer(async (request, response) => {
    const message = await new Response(request).json();
    const answers = [message].flat().map(answer);
    const bodies = answers.map(([, body]) => body);
    response.writeHead(answers[0][0], {
      "content-type": "application/json",
      ...(answers[0][0] === 403 && { "www-authenticate": 'Bearer scope="secrets"' }),
    });
    response.end(JSON.stringify(Array.isArray(message) ? bodies : bodies[0]));
  });
  await new Promise((resolve) => server.listen(port, "localhost", resolve));
  afterThisTest(() => (server.close(), server.closeAllConnections()));
}

it("docs/mcp.md contains programs that print the output in the document", async () => {
  const programs = documentedPrograms("docs/mcp.md", "mcp-docs");
  // The doc tests of the crate compile the code in Rust.
  const fences = programs.page.match(/^```(?!rust)\w/gm).length;
  assert.equal(programs.blocks.length, fences, "each block of code in JavaScript must name a file");
  await serve(await programs.write());
  const files = programs.blocks.filter(({ language }) => language === "js");
  assert.isAtLeast(files.length, 3);
  for (const { file } of files) {
    const { child, output } = programs.start(file);
    const [code] = await once(child, "close");
    assert.deepEqual([code, output.err, output.out], [0, "", programs.outputOf(file)], file);
  }
}).timeout(60_000);
