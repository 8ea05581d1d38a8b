// A guest. It sends OPEN, answers calls, sends DATA frames back, and exits after CLOSE or at the end of its input.

import { answer } from "./calls";
import { CALL, CLOSE, DATA, FrameReader, OPEN, writeFrame } from "./frames";
import { STDERR, STDOUT, writeLine } from "./stdio";

/** The number of calls after which the guest prints a line on stdout, between the frames. */
const CALLS_PER_LINE: u32 = 100;

function main(): void {
  writeLine(STDOUT, "guest: ready");
  writeFrame(OPEN, 0, 0);
  const reader = new FrameReader();
  let calls: u32 = 0;
  for (;;) {
    const frame = reader.next();
    if (frame === null) return writeLine(STDERR, "guest: end of input");
    if (frame.type == CLOSE) return writeLine(STDERR, "guest: received CLOSE");
    if (frame.type == DATA) writeFrame(DATA, frame.payload, frame.length);
    if (frame.type != CALL) continue;
    const reply = answer(String.UTF8.decodeUnsafe(frame.payload, frame.length));
    if (reply !== null) {
      const bytes = String.UTF8.encode(reply);
      writeFrame(CALL, changetype<usize>(bytes), bytes.byteLength);
    }
    calls += 1;
    if (calls % CALLS_PER_LINE == 0) writeLine(STDOUT, "guest: " + calls.toString() + " calls so far");
  }
}

main();
