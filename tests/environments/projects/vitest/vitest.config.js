// Runs the tests of this folder and of docs/environments.md in each environment of Vitest.

const inlined = { deps: { inline: ["portway"] } };
const place = (name, test) => ({ test: { name, env: { PLACE: name }, include: ["calls.test.js"], ...test } });

export default {
  test: {
    projects: [
      place("node", { include: ["calls.test.js", "clock.test.js"] }),
      place("jsdom", { environment: "jsdom", include: ["calls.test.js", "strict-mode.test.js"] }),
      place("happy-dom", { environment: "happy-dom" }),
      place("node, inlined", { server: inlined }),
      place("jsdom, inlined", { environment: "jsdom", server: inlined }),
      place("happy-dom, inlined", { environment: "happy-dom", server: inlined }),
      place("the build for browsers in jsdom", { environment: "jsdom", include: ["lost.test.js"], server: inlined }),
    ],
  },
};
