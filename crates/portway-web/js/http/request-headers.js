// The headers that repeat members of a request of the modern era. Rust has the rules for these headers.

/** The maximum depth of a value. The JSON decoder of the native client has the same maximum. */
const MAX_DEPTH = 127;

export class RequestHeaders {
  #rules;

  constructor({ RequestHeaders }) {
    this.#rules = new RequestHeaders();
  }

  /** Reads the input schema of a tool. Returns the rule that the schema violates, or undefined. */
  readTool(name, schema) {
    if (!this.#pass(schema)) return `the schema must have at most ${MAX_DEPTH} levels`;
    return this.#rules.read_tool(name);
  }

  /** Returns the headers of a request, except `Mcp-Method`. */
  of({ method, params }) {
    const name = params[this.#rules.named_param(method) ?? ""];
    if (typeof name !== "string") return {};
    // Arguments that are too deep have no headers.
    if (!this.#pass(method === "tools/call" ? params.arguments : null)) this.#pass(null);
    const lines = this.#rules.of_request(method, name).split("\n");
    const headers = {};
    for (let n = 0; n + 1 < lines.length; n += 2) headers[lines[n]] = lines[n + 1];
    return headers;
  }

  /** Passes a JSON value to the wasm. Returns false if the value is too deep. */
  #pass(value) {
    const isPassed = this.#passPart(value, 0);
    if (!isPassed) this.#rules.reset();
    return isPassed;
  }

  #passPart(value, depth) {
    const rules = this.#rules;
    if (typeof value === "object" && value !== null) {
      if (depth === MAX_DEPTH) return false;
      const isArray = Array.isArray(value);
      rules.open(isArray);
      for (const [name, part] of Object.entries(value)) {
        if (!isArray) rules.name(name);
        if (!this.#passPart(part, depth + 1)) return false;
      }
      rules.close();
    } else if (typeof value === "string") rules.text(value);
    else if (typeof value === "number") rules.number(value);
    else if (typeof value === "boolean") rules.boolean(value);
    else rules.null();
    return true;
  }
}
