import init from "./copy/node.js";

console.log(await init().catch(({ message }) => message));
