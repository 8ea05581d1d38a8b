// Prints the size of each file named on the command line, as it is and compressed: [{ file, raw, gzip, brotli }].
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const sizes = process.argv.slice(2).map((file) => {
  const bytes = readFileSync(file);
  return {
    file,
    raw: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    brotli: brotliCompressSync(bytes).length,
  };
});
console.log(JSON.stringify(sizes));
