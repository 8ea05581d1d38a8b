// A WIPC guest whose handlers fail with the errors of libraries. tests/peers/portway_js.rs calls these handlers.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import axios from "axios";
import init, { JSONRPCServer } from "../../../pkg/node.js";
import { guestChannel } from "../../../pkg/wipc-node.js";

const backend = createServer((_, response) =>
  response.writeHead(403, { "set-cookie": "session=s3cret" }).end("s3cret"),
);
await new Promise((listening) => backend.listen(0, "127.0.0.1", listening));
// The HTTP server must not keep this process running.
backend.unref();

const headers = { Authorization: "Bearer s3cret" };
const get = () => axios.get(`http://127.0.0.1:${backend.address().port}/`, { headers });

const channel = guestChannel();
await init();
new JSONRPCServer(channel.transport(), { errorData: ({ status }) => (status === 404 ? { status } : undefined) })
  .method("axios", get)
  .method("cause", () => get().catch((cause) => Promise.reject(new Error("no such user", { cause }))))
  .method("fs", () => readFile("/home/s3cret"))
  .method("chosen", () => {
    throw Object.assign(new Error("x"), { status: 404, token: "s3cret" });
  });
