// In every version of Node, CommonJS can import the package by `import()`.
import("portway")
  .then(async (portway) => {
    await portway.default();
    return portway.validateMessage({ jsonrpc: "2.0", method: "add", id: 1 }).isValid;
  })
  .then((result) => console.log(JSON.stringify(result)));
