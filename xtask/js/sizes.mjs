// Prints the sizes of the files in the arguments, raw and compressed, as JSON: [{ file, raw, gzip, brotli }].
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
