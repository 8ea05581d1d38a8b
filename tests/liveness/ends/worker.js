// An end in a worker, towards its owner; it does to itself what it is told to.

import init, { connect } from "/pkg/portway.js";
import { methods, optionsFrom } from "./serve.js";

addEventListener("message", ({ data }) => {
  if (data?.type === "close") self.close();
});
await init();
await connect(self, {
  ...optionsFrom(location.search),
  methods: {
    ...methods,
    /** Blocks without burning the processor that the others need. */
    block([ms]) {
      const request = new XMLHttpRequest();
      request.open("GET", `/package.json?delay=${ms}`, false);
      request.send();
    },
  },
});
