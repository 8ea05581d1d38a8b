// `portway/mcp`: a transport over HTTP, for JSON-RPC and for MCP. It works with the clients and peers of every entry of
// `portway`.

export { detectEra } from "../http/era.js";
export { httpTransport } from "../http/http-transport.js";
