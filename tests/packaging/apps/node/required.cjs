// `require` returns the module if this version of Node can require ES modules. If it cannot, `require` throws an error
// with the code ERR_REQUIRE_ESM.
let outcome;
try {
  const portway = require("portway");
  outcome = portway.default().then(() => portway.validateMessage({ jsonrpc: "2.0", method: "add", id: 1 }).isValid);
} catch (error) {
  outcome = Promise.resolve(error.code);
}
outcome.then((result) => console.log(JSON.stringify(result)));
