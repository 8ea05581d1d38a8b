import type { JSONRPCPeer } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";

export type FetchFile = (url: string, method?: string) => Promise<Response>;

/**
 * Returns a function that requests a file from the page, and converts the result to a `Response`. `base` returns the
 * address of the app.
 */
export function fetchThroughPage(peer: JSONRPCPeer<HostApi, FrameApi>, base: () => string): FetchFile {
  return async (url, method = "GET") => {
    const { pathname, search } = new URL(url, base());
    const answer = await peer.request("fetch", { url: pathname + search, method });
    const bytes = Uint8Array.from(atob(answer.body), (char) => char.charCodeAt(0));
    return new Response(bytes, { status: answer.status, headers: answer.headers });
  };
}

/** Replaces `fetch`. The replacement reads files of the app from the page, and other addresses from the network. */
export function replaceFetch(fetchFile: FetchFile, resolve: (url: string) => string | undefined): void {
  const network = window.fetch.bind(window);
  window.fetch = (input, init) => {
    const request = input instanceof Request ? input : undefined;
    // The browser resolves the URL of a `Request` against the address of this document. So the origin of this document
    // is removed.
    const path = resolve(request ? request.url.replace(location.origin, "") : String(input));
    return path === undefined ? network(input, init) : fetchFile(path, init?.method ?? request?.method);
  };
}
