// Taps of WIPC channels: the records have the texts of CALL frames.

import { assert } from "chai";
import { JSONRPCPeer } from "./support/portway.js";
import { CALL, channels, scriptedPipe, utf8 } from "./support/wipc.js";
import { assertSameMessages, collected, tap } from "./support/taps.js";
import { afterThisTest } from "./support/cleanup.js";
import { rejection, until } from "./support/outcomes.js";

describe("a tapped WIPC channel", () => {
  it("records the texts that both peers send", async () => {
    const { host, guest } = channels();
    const [near, far] = [collected(), collected()];
    const hostPeer = new JSONRPCPeer(tap(host.transport(), { name: "guest", sink: near.recorder }));
    const guestPeer = new JSONRPCPeer(tap(guest.transport(), { sink: far.recorder })).method(
      "echo",
      (params) => params,
    );
    afterThisTest(() => [hostPeer, guestPeer].forEach((peer) => peer.destroy()));
    assert.deepEqual(await hostPeer.request("echo", ["ü", { a: 1 }]), ["ü", { a: 1 }]);
    await near.untilMessages(2);
    assert.deepInclude(near.records[0], { kind: "open", name: "guest", transport: "stdio" });
    const [{ text, form, size }] = near.messages("sent");
    assert.equal(text, '{"jsonrpc":"2.0","method":"echo","params":["ü",{"a":1}],"id":1}');
    assert.deepEqual([form, size], ["text", utf8(text).length]);
    await assertSameMessages(near, far, "to the guest");
    await assertSameMessages(far, near, "to the host");
  });

  it("records invalid frames, and the end of the channel", async () => {
    const { channel, post, end } = scriptedPipe();
    const found = collected();
    const peer = new JSONRPCPeer(tap(channel.transport(), { sink: found.recorder }), { onError() {} });
    afterThisTest(() => peer.destroy());
    await post(CALL, "{");
    await post(CALL, new Uint8Array([0xff]));
    await until(() => found.ofKind("invalid").length === 2);
    assert.equal(found.ofKind("invalid")[0].text, "{");
    assert.equal(found.ofKind("invalid")[1].base64, "/w==");
    const call = rejection(peer.request("hang"));
    await end();
    await call;
    await until(() => found.ofKind("close").length === 1);
  });
});
