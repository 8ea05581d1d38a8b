// Tests the zones of Angular: a response arrives in the zone of its call, and fakeAsync advances timeouts.

import "zone.js";
import "zone.js/testing";
import init, { JSONRPCClient, JSONRPCServer, portTransport } from "portway";
import { equal } from "./calls.js";
import { report } from "./report.js";
import { ends } from "./timeout.mjs";

const { fakeAsync, tick, withProxyZone } = Zone[Zone.__symbol__("fakeAsyncTest")];

await init();

await report([
  ["fakeAsync advances timeouts", () => equal(withProxyZone(() => fakeAsync(() => ends(tick))())(), "timeout")],
  [
    "a call times out although an earlier call lost its timer in fakeAsync",
    async () => {
      const client = new JSONRPCClient({ send() {}, onMessage() {} }, { timeout: 30 });
      withProxyZone(() =>
        fakeAsync(() => {
          client.request("left over").catch(() => {});
          tick(1);
          Zone.current.get("FakeAsyncTestZoneSpec").pendingTimers.length = 0;
        })(),
      )();
      equal(
        await new JSONRPCClient({ send() {}, onMessage() {} }, { timeout: 30 })
          .request("later")
          .catch(({ reason }) => reason),
        "timeout",
      );
    },
  ],
  [
    "a response arrives in the zone that made the call",
    async () => {
      const { port1, port2 } = new MessageChannel();
      const server = new JSONRPCServer(portTransport(port2)).method("add", ([a, b]) => a + b);
      const client = new JSONRPCClient(portTransport(port1));
      const zone = Zone.current.fork({ name: "angular" });
      const call = () => client.request("add", [1, 2]).then((sum) => [sum, Zone.current.name]);
      equal(await zone.run(call), [3, "angular"]);
      client.destroy();
      server.destroy();
    },
  ],
]);
process.exit();
