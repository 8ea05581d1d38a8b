// What JavaScript asks of wasm: the commands of `Core.run`. `commands.rs` has the same numbers, and says what each does.

export const CONFIGURE = 0;
export const CALL = 1;
export const ID = 2;
export const ABANDON = 3;
export const RECEIVE = 4;
export const PUSH = 5;
export const RECEIVE_BATCH = 6;
export const NEXT = 7;
export const RESPOND = 8;
export const TICK = 9;
export const WAKE = 10;
export const CLOSE = 11;
export const ELEMENT = 12;
export const NEXT_REPLY = 13;
export const TELL_FAULT = 14;
export const VALIDATE = 15;
export const OPEN = 16;
export const FREE = 17;
export const RESTART = 18;
