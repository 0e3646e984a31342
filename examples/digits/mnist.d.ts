/** 10,000 digits of the MNIST database. The package has no types of its own; of what it offers, this is used. */
declare module 'mnist' {
  interface Digit {
    /** All images of this digit one after the other, 28 × 28 pixels each, from 0 to 1. */
    readonly raw: readonly number[]
  }
  const digits: readonly Digit[]
  export default digits
}
