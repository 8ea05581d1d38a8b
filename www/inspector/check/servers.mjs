// The servers of `../check.mjs`. `startPageServer` serves the page with its content security policy, and stores the
// reported violations. `PeerServer` is a JSON-RPC server over WebSockets.
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";
import init, { JSONRPCPeer, RPCError } from "../../../pkg/node.js";
import { inspector, serve } from "../../serve.mjs";

const PKG = fileURLToPath(new URL("../../../pkg/", import.meta.url));

const TYPES = { js: "text/javascript", html: "text/html; charset=utf-8" };

/**
 * Starts the server of the page. It also serves the package to pages with taps, and the files in `folders`: an object
 * whose names are URL paths, such as `/story/`, and whose values are folders. Browsers report violations of the policy
 * to this server. `site` is the page: the inspector, or the playground with the inspector's panel.
 */
export async function startPageServer(folders = {}, site = inspector) {
  await init();
  const violations = [];
  const policyOf = (...facts) => `${site.policyOf(...facts)}; report-uri /violation`;
  const { server, url } = await serve(0, { ...site, policyOf });
  const [servePage] = server.listeners("request");
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const shipped = /^\/pkg\/([\w-]+)\.(js|wasm)$/.exec(request.url);
    if (shipped) {
      const type = shipped[2] === "js" ? "text/javascript" : "application/wasm";
      response.writeHead(200, { "Content-Type": type });
      createReadStream(`${PKG}${shipped[1]}.${shipped[2]}`).pipe(response);
      return;
    }
    const [, path, name, ending] = /^(\/[\w-]+\/)([\w-]+\.(js|html))$/.exec(request.url) ?? [];
    if (path in folders) {
      response.writeHead(200, { "Content-Type": TYPES[ending] });
      createReadStream(`${folders[path]}${name}`).pipe(response);
    } else if (request.url === "/clipboard.js") {
      const script =
        "navigator.clipboard.writeText = async (text) => { document.documentElement.dataset.copied = text; };";
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(script);
    } else if (request.url === "/blank") {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Another page</title>");
    } else if (request.url === "/violation") {
      let text = "";
      request.setEncoding("utf8").on("data", (part) => (text += part));
      request.on("end", () => violations.push(text));
      response.writeHead(204).end();
    } else servePage(request, response);
  });
  return {
    url,
    violations,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A WebSocket server whose connections are peers of Portway. It can be killed and restarted on its port. */
export class PeerServer {
  #server;
  #port = 0;
  /** The texts that the server has received. */
  received = [];
  /** The number of connections. */
  connections = 0;

  async start() {
    this.#server = new WebSocketServer({ host: "127.0.0.1", port: this.#port });
    this.#server.on("connection", (socket) => this.#serve(socket));
    await once(this.#server, "listening");
    this.#port = this.#server.address().port;
  }

  get url() {
    return `ws://127.0.0.1:${this.#port}/rpc?ticket=s3cret`;
  }

  /** Ends all connections without a closing handshake, and no longer listens. */
  async kill() {
    for (const socket of this.#server.clients) socket.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Sends a text over all connections. */
  send(text) {
    for (const socket of this.#server.clients) socket.send(text);
  }

  /** Closes all connections with a code. */
  close(code, reason) {
    for (const socket of this.#server.clients) socket.close(code, reason);
  }

  #serve(socket) {
    this.connections += 1;
    const peer = new JSONRPCPeer({
      send: (message) => socket.send(JSON.stringify(message)),
      onMessage: (handler) =>
        socket.on("message", (data) => {
          const text = data.toString();
          this.received.push(text);
          try {
            handler(JSON.parse(text));
          } catch {
            socket.send('{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}');
          }
        }),
    });
    socket.on("close", () => peer.destroy());
    socket.on("error", () => {});
    peer.method("add", ([a, b]) => a + b);
    peer.method("login", () => true);
    peer.method("never", () => new Promise(() => {}));
    peer.method("fail", () => {
      throw new RPCError(-32099, "the disk is full");
    });
  }
}
