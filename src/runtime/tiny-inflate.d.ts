declare module 'tiny-inflate' {
  /** Inflates raw deflated bytes into `destination`, which must be large enough, and returns what it filled of it. */
  export default function inflate<Destination extends Uint8Array>(
    source: Uint8Array,
    destination: Destination,
  ): Destination
}
