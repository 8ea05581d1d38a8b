// Runs the shared tests in several environments, and the test of docs/environments.md with the configuration of that
// page.

import page from "./jest.config.js";

const place = (name, rest) => ({
  displayName: name,
  globals: { PLACE: name },
  transform: {},
  testMatch: ["**/calls.test.js"],
  ...rest,
});

export default {
  projects: [
    place("node", { testEnvironment: "node" }),
    place("jsdom", page),
    { ...place("page", page), testMatch: ["**/pair.test.js"] },
    place("the build for browsers in jsdom", { testEnvironment: "jsdom", testMatch: ["**/import.test.js"] }),
  ],
};
