// Sends the HTTP requests of a transport. Adds the headers of the application, refuses redirections, and limits the
// length of bodies.

/** A failure of HTTP. The transport converts it to a `CallError` with the same `reason`, `message` and `data`. */
export class HttpFailure extends Error {
  reason = "http-failed";
  /** @type {{ status?: number, challenge?: string, supported?: string[] }} */
  data = {};

  constructor(message, data, cause) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this.data, data);
  }
}

/** Returns the failure for the status of a response. */
export function statusFailure(response, text = "") {
  const { status, headers } = response;
  const challenge = headers.get("www-authenticate") ?? undefined;
  return new HttpFailure(`the server responded with the HTTP status ${status}${text}`, { status, challenge });
}

/** Returns the media type of a response in lower case, or an empty text. */
export function mediaType({ headers }) {
  return (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** Cancels a body that is not needed. */
export function discard({ body }) {
  body?.cancel().catch(() => {});
}

export class HttpClient {
  #url;
  #fetch;
  #headers;
  #maxBytes;

  constructor(url, fetch, headers, maxBytes) {
    this.#url = url;
    this.#fetch = fetch;
    this.#headers = headers;
    this.#maxBytes = maxBytes;
  }

  /**
   * Sends a request. `headers` are headers of the protocol, which the application can replace. `last` are headers that
   * the application cannot replace. Rejects with an `HttpFailure`, or with any error if `signal` is aborted.
   * @param {RequestInit} init
   */
  async send(init, headers, last = {}) {
    const all = new Headers(headers);
    let problem = "the headers of the application must be valid";
    let response;
    try {
      const further = new Headers((await this.#headers?.()) ?? {});
      for (const group of [further, new Headers(last)]) group.forEach((value, name) => all.set(name, value));
      problem = "the server cannot be reached";
      // A page cannot distinguish a refusal by CORS from an unreachable server.
      if (globalThis.location) problem += ", or its CORS headers do not allow the request";
      const fetch = this.#fetch;
      response = await fetch(this.#url, { ...init, headers: all, redirect: "manual" });
    } catch (error) {
      throw new HttpFailure(problem, {}, error);
    }
    const { type, status } = response;
    if (type !== "opaqueredirect" && (status < 300 || status > 399)) return response;
    discard(response);
    const data = status ? { status } : {};
    throw new HttpFailure("the server responded with a redirection, which is not followed; use the new URL", data);
  }

  /** Reads a whole body as text. */
  async text(response) {
    const decoder = new TextDecoder(undefined, { fatal: true, ignoreBOM: true });
    let length = 0;
    let text = "";
    for await (const chunk of this.chunks(response)) {
      length += chunk.length;
      if (length > this.#maxBytes) throw new HttpFailure(`the body must have at most ${this.#maxBytes} bytes`);
      text += decodeWith(decoder, chunk);
    }
    return text + decodeWith(decoder);
  }

  /**
   * Returns the chunks of a body. If the iteration ends early, cancels the body after `grace` ms or `maxBytes` further
   * bytes. If the server ends the body before, the connection can be used again.
   */
  async *chunks({ body }, grace = 0) {
    const reader = body?.getReader();
    let isAtEnd = false;
    try {
      for (;;) {
        let read;
        try {
          read = await reader?.read();
        } catch (error) {
          isAtEnd = true;
          throw new HttpFailure("the response ended before its end was received", {}, error);
        }
        isAtEnd = read?.done ?? true;
        if (isAtEnd) return;
        yield read.value;
      }
    } finally {
      if (!isAtEnd) endReading(reader, grace, this.#maxBytes);
    }
  }
}

async function endReading(reader, grace, maxBytes) {
  const cancel = () => reader.cancel().catch(() => {});
  if (grace === 0) return cancel();
  const timer = setTimeout(cancel, grace);
  // The rest of the body is not needed, so its errors are ignored.
  try {
    for (let left = maxBytes; left > 0; ) {
      const { done, value } = await reader.read();
      left = done ? 0 : left - value.length;
    }
  } catch {}
  clearTimeout(timer);
  cancel();
}

function decodeWith(decoder, chunk) {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new HttpFailure("the body must be UTF-8", {}, error);
  }
}
