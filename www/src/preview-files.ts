import { fs } from "@zenfs/core";
import type { FetchResult } from "portway";
import { DIST } from "./project";

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  gif: "image/gif",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  jpg: "image/jpeg",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  map: "application/json; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
  webp: "image/webp",
  woff2: "font/woff2",
};

/** Answers the preview's `fetch` from the build output, as a static web server with an SPA fallback does. */
export async function servePreviewFile(url: string, method = "GET"): Promise<FetchResult> {
  const verb = method.toUpperCase();
  if (verb !== "GET" && verb !== "HEAD") return textResponse(405, `${verb} is not supported here`);
  const path = pathOf(url);
  if (path === undefined) return textResponse(400, "Not a valid address");

  const file = await findFile(path);
  if (file === undefined) return textResponse(404, `Not found: ${path}`);
  const headers = { "Content-Type": TYPES[extensionOf(file)] ?? "application/octet-stream" };
  const contents = verb === "HEAD" ? new Uint8Array() : await fs.promises.readFile(file);
  return { status: 200, headers, body: toBase64(contents) };
}

function pathOf(url: string): string | undefined {
  try {
    // The parser resolves `..`, but not an encoded form such as `..%2F`. `findFile` refuses a `..` in the decoded path.
    return decodeURIComponent(new URL(url, "http://preview.invalid/").pathname);
  } catch {
    return undefined;
  }
}

async function findFile(path: string): Promise<string | undefined> {
  if (path.split("/").includes("..")) return undefined;
  const candidates = path.endsWith("/") ? [`${DIST}${path}index.html`] : [`${DIST}${path}`];
  // A path without an extension is a route of the app.
  if (!extensionOf(path)) candidates.push(`${DIST}/index.html`);
  for (const candidate of candidates) {
    const stats = await fs.promises.stat(candidate).catch(() => undefined);
    if (stats?.isFile()) return candidate;
  }
  return undefined;
}

function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

function textResponse(status: number, body: string): FetchResult {
  const headers = { "Content-Type": "text/plain; charset=utf-8" };
  return { status, headers, body: toBase64(new TextEncoder().encode(body)) };
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  // The bytes are converted in slices, because the number of arguments of a function is limited.
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}
