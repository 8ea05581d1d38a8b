import type { JSONRPCPeer } from "portway/inline";
import type { FrameApi, HostApi } from "../boundaries";

export type FetchFile = (url: string, method?: string) => Promise<Response>;

/** Asks the page for a file and gives the answer the shape that the platform has for it. */
export function fetchThroughPage(peer: JSONRPCPeer<HostApi, FrameApi>, base: () => string): FetchFile {
  return async (url, method = "GET") => {
    const { pathname, search } = new URL(url, base());
    const answer = await peer.request("fetch", { url: pathname + search, method });
    const bytes = Uint8Array.from(atob(answer.body), (char) => char.charCodeAt(0));
    return new Response(bytes, { status: answer.status, headers: answer.headers });
  };
}

/** The app's own `fetch`: what belongs to the app comes from the page, the rest from the network. */
export function replaceFetch(fetchFile: FetchFile): void {
  const network = window.fetch.bind(window);
  window.fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    return /^[a-z][a-z0-9+.-]*:|^\/\//i.test(url) ? network(input, init) : fetchFile(url, method);
  };
}
