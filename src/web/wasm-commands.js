// What JavaScript asks of wasm: the commands of `Core.run`. `commands.rs` has the same numbers, and says what each does.

export const CONFIGURE = 0;
export const CALL = 1;
export const ABANDON = 2;
export const RECEIVE = 3;
export const PUSH = 4;
export const RECEIVE_BATCH = 5;
export const NEXT = 6;
export const RESPOND = 7;
export const TICK = 8;
export const WAKE = 9;
export const CLOSE = 10;
export const ELEMENT = 11;
export const NEXT_REPLY = 12;
export const TELL_FAULT = 13;
export const VALIDATE = 14;
export const OPEN = 15;
export const FREE = 16;
export const RESTART = 17;
export const UNREADABLE = 18;
export const START_CLOCK = 19;
