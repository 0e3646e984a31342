/** A sum with what its roundings lose (Neumaier), so that its error does not depend on the length. */
export function sum(values: Iterable<number>): number {
  let total = 0
  let lost = 0
  for (const value of values) {
    const next = total + value
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total
    total = next
  }
  return Number.isFinite(total) ? total + lost : total
}
