// Prints the error of init(). The package in the folder `copy` has no wasm.

import init from "./copy/node.js";

console.log(await init().catch(({ message }) => message));
