import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  // Addresses are relative, so that the built page works under any path.
  base: "./",
  resolve: {
    alias: [
      { find: /^portway$/, replacement: here("../../pkg/portway.js") },
      { find: /^portway\/(tap|websocket)$/, replacement: here("../../pkg/$1.js") },
      { find: /^portway-inspector$/, replacement: here("core/inspector.js") },
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
  },
});
