// The tests state a type by `same<Equal<typeof value, Expected>>(true)`, which compiles only if both types are equal.

export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export declare function same<Answer extends boolean>(answer: Answer): void;
