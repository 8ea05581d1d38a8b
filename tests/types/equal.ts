// How the other files state a type: `same<Equal<typeof value, Expected>>(true)` compiles only when both are the same.

export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export declare function same<Answer extends boolean>(answer: Answer): void;
