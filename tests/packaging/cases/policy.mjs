// Tests the plain page under a Content-Security-Policy, with and without the permission that wasm needs.

import assert from "node:assert/strict";
import { visit } from "../browser.mjs";
import { withSite } from "../site.mjs";

const policy = (script) => ({
  "Content-Security-Policy": [
    "default-src 'none'",
    `script-src ${script}`,
    "connect-src 'self'",
    "worker-src 'self'",
    "frame-src 'self'",
  ].join("; "),
});

export default async function contentSecurityPolicy(suite, { installation, browser }) {
  const app = await installation.app("plain", "policy");

  await suite.test("page, worker and iframe work under script-src 'self' 'wasm-unsafe-eval' without a violation", () =>
    withSite(
      app,
      async (url) => {
        const outcome = { worker: "worker greets page", frame: "frame greets page" };
        assert.deepEqual(await visit(browser, url), { outcome, faults: [] });
      },
      { headers: policy("'self' 'wasm-unsafe-eval'") },
    ),
  );

  await suite.test("init names the missing permission if the policy forbids wasm", () =>
    withSite(
      app,
      async (url) => {
        const { outcome, faults } = await visit(browser, url);
        assert.equal(outcome.error, "Error: portway: the Content-Security-Policy needs script-src 'wasm-unsafe-eval'");
        assert.ok(
          faults.every((fault) => /policy|Content Security Policy/i.test(fault)),
          faults.join("\n"),
        );
      },
      { headers: policy("'self'") },
    ),
  );
}
