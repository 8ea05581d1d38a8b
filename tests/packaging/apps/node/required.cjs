// CommonJS: Node returns the module if it can require ES modules. Otherwise it throws an error with that reason.
let outcome;
try {
  const portway = require("portway");
  outcome = portway.default().then(() => portway.validateMessage({ jsonrpc: "2.0", method: "add", id: 1 }).isValid);
} catch (error) {
  outcome = Promise.resolve(error.code);
}
outcome.then((result) => console.log(JSON.stringify(result)));
