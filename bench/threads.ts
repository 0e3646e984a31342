import * as wengert from 'wengert'

/** Undefined where the library computes on one thread only. */
export const { setThreads } = wengert as { readonly setThreads?: (threads: number) => unknown }
