import type { ErrorReporter } from "./error-reporter";
import type { FetchFile } from "./page-fetch";

/**
 * Fetches the document at `url`, and shows its contents in the document of the iframe. The scripts of the fetched
 * document run in order, after its body is inserted.
 */
export async function showDocument(url: string, fetchFile: FetchFile, errors: ErrorReporter): Promise<void> {
  const response = await fetchFile(url);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  await Promise.all(
    [...parsed.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")].map((link) => inlineStyle(link, fetchFile)),
  );
  await Promise.all(
    [...parsed.querySelectorAll<HTMLImageElement>("img[src]")].map((image) => inlineImage(image, fetchFile)),
  );
  const scripts = [...parsed.querySelectorAll("script")];
  for (const script of scripts) script.remove();
  // The icons and other files that links refer to are not on the network, so the browser cannot load these files.
  for (const link of parsed.querySelectorAll("link")) link.remove();

  for (const { name, value } of parsed.documentElement.attributes) document.documentElement.setAttribute(name, value);
  document.title = parsed.title;
  document.head.append(...parsed.head.querySelectorAll("style, meta"));
  document.body.replaceWith(document.adoptNode(parsed.body));
  for (const script of scripts) await run(script, url, fetchFile, errors);
  document.dispatchEvent(new Event("DOMContentLoaded", { bubbles: true }));
}

async function inlineStyle(link: HTMLLinkElement, fetchFile: FetchFile): Promise<void> {
  const href = link.getAttribute("href") ?? "";
  const response = await fetchFile(href);
  if (!response.ok) return console.warn(`Style not found: ${href}`);
  const style = link.ownerDocument.createElement("style");
  style.textContent = await response.text();
  link.replaceWith(style);
}

async function inlineImage(image: HTMLImageElement, fetchFile: FetchFile): Promise<void> {
  const src = image.getAttribute("src") ?? "";
  if (/^(data|blob|https?):/.test(src)) return;
  const response = await fetchFile(src);
  if (response.ok) image.src = URL.createObjectURL(await response.blob());
}

/** Runs a script, and waits until the script has run or has failed to load. */
async function run(
  original: HTMLScriptElement,
  base: string,
  fetchFile: FetchFile,
  errors: ErrorReporter,
): Promise<void> {
  const src = original.getAttribute("src");
  const path = src === null ? base : src;
  const response = src === null ? new Response(original.textContent) : await fetchFile(src);
  if (!response.ok) return console.error(`Script not found: ${src}`);

  const script = document.createElement("script");
  script.type = original.type;
  script.src = URL.createObjectURL(new Blob([await response.text()], { type: "text/javascript" }));
  errors.setPath(script.src, path);
  await new Promise<void>((resolve) => {
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => resolve());
    document.body.append(script);
  });
}
