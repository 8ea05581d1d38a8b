import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  // Addresses are relative, so that the built page works under any path.
  base: "./",
  resolve: {
    alias: [
      { find: /^portway$/, replacement: here("../pkg/portway.js") },
      { find: /^portway\/(inline|early|tap|websocket)$/, replacement: here("../pkg/$1.js") },
      { find: /^portway-inspector$/, replacement: here("inspector/core/inspector.js") },
    ],
  },
  worker: { format: "es" },
  build: {
    target: "es2022",
    outDir: here("dist"),
    emptyOutDir: true,
    // Data URLs would require a less strict content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    rolldownOptions: { input: { page: here("index.html"), preview: here("preview.html") } },
  },
  // Only the worker imports these packages, so the development server does not find them at its start.
  optimizeDeps: { include: ["esbuild-wasm", "resolve.exports"] },
  // The iframe of the preview is sandboxed, so its origin is "null" and its module scripts are cross-origin.
  server: { cors: { origin: "*" } },
});
