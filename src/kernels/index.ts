export * from "./binary";
export * from "./compare";
export * from "./convert";
export * from "./crossEntropy";
export * from "./matmul";
export * from "./movement";
export * from "./angle";
export * from "./argument";
export * from "./attention";
export * from "./attentionBackward";
export * from "./fold";
export * from "./gates";
export * from "./indexing";
export * from "./normalise";
export * from "./order";
export * from "./random";
export * from "./reduce";
export * from "./scan";
export * from "./slopes";
export * from "./softmax";
export * from "./unary";
export * from "./update";

/** First byte that the kernels' own static data does not use. */
export function heapBase(): usize {
  return __heap_base;
}
