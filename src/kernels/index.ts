export * from "./binary";
export * from "./compare";
export * from "./convert";
export * from "./movement";

/** First byte that the kernels' own static data does not use. */
export function heapBase(): usize {
  return __heap_base;
}
