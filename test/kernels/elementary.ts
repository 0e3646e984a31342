// Elementary functions to some 250 bits, as references for the float64 kernels: binary floating point on BigInt, and
// series whose truncation errors are far below that.

const PRECISION = 256

/** m · 2^e */
export interface Exact {
  readonly m: bigint
  readonly e: number
}

const magnitude = (m: bigint): bigint => (m < 0n ? -m : m)
function bitLength(m: bigint): number {
  const digits = magnitude(m).toString(16)
  return 4 * digits.length + 28 - Math.clz32(Number.parseInt(digits.charAt(0), 16))
}

function rounded(m: bigint, e: number, precision: number): Exact {
  const surplus = bitLength(m) - precision
  return surplus > 0 ? { m: m >> BigInt(surplus), e: e + surplus } : { m, e }
}

/** The exact value of a finite double. */
export function exactly(x: number): Exact {
  const bits = new BigUint64Array(new Float64Array([x]).buffer)[0] as bigint
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & ((1n << 52n) - 1n)
  const m = exponent === 0 ? fraction : fraction | (1n << 52n)
  return { m: x < 0 ? -m : m, e: Math.max(exponent, 1) - 1075 }
}

const add = (a: Exact, b: Exact): Exact => {
  // A summand that is too small to matter would only make the integers long.
  if (a.m === 0n) return b
  if (b.m === 0n) return a
  const distance = a.e + bitLength(a.m) - (b.e + bitLength(b.m))
  if (distance > 2 * PRECISION) return a
  if (distance < -2 * PRECISION) return b
  const e = Math.min(a.e, b.e)
  return rounded((a.m << BigInt(a.e - e)) + (b.m << BigInt(b.e - e)), e, PRECISION)
}
const negate = (a: Exact): Exact => ({ m: -a.m, e: a.e })
const subtract = (a: Exact, b: Exact): Exact => add(a, negate(b))
const multiply = (a: Exact, b: Exact): Exact => rounded(a.m * b.m, a.e + b.e, PRECISION)
const divide = (a: Exact, b: Exact, precision = PRECISION): Exact => {
  const shift = Math.max(0, precision + 1 + bitLength(b.m) - bitLength(a.m))
  return rounded((a.m << BigInt(shift)) / b.m, a.e - shift - b.e, precision)
}
const half = (a: Exact): Exact => ({ m: a.m, e: a.e - 1 })
const integer = (n: number): Exact => ({ m: BigInt(n), e: 0 })
const one = integer(1)

/** Where the leading bit of a non-zero value stands: 2^leading <= |a| < 2^(leading + 1). */
export const leading = (a: Exact): number => a.e + bitLength(a.m) - 1

/** a / 2^unit as a double, for quotients of moderate size. */
export function inUnits(a: Exact, unit: number): number {
  const shift = bitLength(a.m) - 60
  return Number(shift > 0 ? a.m >> BigInt(shift) : a.m) * 2 ** (a.e + Math.max(shift, 0) - unit)
}

export const difference = subtract

/** The sum of terms that fall from the first one on. */
function series(term: (n: number, previous: Exact) => Exact): Exact {
  let current = term(0, one)
  let sum = current
  for (let n = 1; current.m !== 0n && leading(current) > leading(sum) - PRECISION - 8; n++) {
    current = term(n, current)
    sum = add(sum, current)
  }
  return sum
}

/** atanh x for |x| < 1/2 */
function atanh(x: Exact): Exact {
  const square = multiply(x, x)
  let power = x
  return series((n) => {
    if (n > 0) power = multiply(power, square)
    return divide(power, integer(2 * n + 1))
  })
}

const ln2 = multiply(integer(2), atanh(divide(one, integer(3))))

/** e^x - 1 for |x| <= 1 */
const smallExpm1 = (x: Exact): Exact => series((n, term) => (n === 0 ? x : divide(multiply(term, x), integer(n + 1))))

export function exp(x: Exact): Exact {
  const n = Math.round(inUnits(x, 0) / Math.LN2)
  const power = add(smallExpm1(subtract(x, multiply(integer(n), ln2))), one)
  return { m: power.m, e: power.e + n }
}

export const expm1 = (x: Exact): Exact => (leading(x) < -1 ? smallExpm1(x) : subtract(exp(x), one))

export function log(x: Exact): Exact {
  const k = leading(x) + (inUnits(x, leading(x)) > Math.SQRT2 ? 1 : 0)
  const fraction = { m: x.m, e: x.e - k }
  const logarithm = multiply(integer(2), atanh(divide(subtract(fraction, one), add(fraction, one))))
  return add(multiply(integer(k), ln2), logarithm)
}

export const log1p = (x: Exact): Exact =>
  leading(x) < -2 ? multiply(integer(2), atanh(divide(x, add(x, integer(2))))) : log(add(one, x))

export function tanh(x: Exact): Exact {
  const t = expm1(multiply(integer(2), x))
  return divide(t, add(t, integer(2)))
}

export const sigmoid = (x: Exact): Exact => divide(one, add(one, exp(negate(x))))
export const silu = (x: Exact): Exact => multiply(x, sigmoid(x))
export const softplus = (x: Exact): Exact => (x.m > 0n ? add(x, log1p(exp(negate(x)))) : log1p(exp(x)))

/** π by Machin's formula, with enough bits to reduce any double. */
const PI_BITS = 1500
const pi = (() => {
  const inverseTangent = (n: bigint): bigint => {
    let power = (1n << BigInt(PI_BITS + 32)) / n
    let sum = power
    for (let k = 1n; power !== 0n; k++) {
      power /= -n * n
      sum += power / (2n * k + 1n)
    }
    return sum
  }
  return { m: (4n * (4n * inverseTangent(5n) - inverseTangent(239n))) >> 32n, e: -PI_BITS }
})()
const shortPi = rounded(pi.m, pi.e, PRECISION)

/** sin(|x| + quarters · π/2) */
function sinusoid(x: Exact, quarters: number): Exact {
  // In units of 2^-PI_BITS, exactly; the product of n and π/2 is exact enough for n < 2^1024.
  const fixed = magnitude(x.m) << BigInt(x.e + PI_BITS)
  const n = (4n * fixed + pi.m) / (2n * pi.m)
  const r = rounded(fixed - (n * pi.m) / 2n, -PI_BITS, PRECISION)
  const quadrant = Number((n + BigInt(quarters)) % 4n)
  const isCosine = quadrant % 2
  const square = negate(multiply(r, r))
  const sum = series((k, term) => {
    if (k === 0) return isCosine ? one : r
    return divide(multiply(term, square), integer((2 * k - isCosine) * (2 * k + 1 - isCosine)))
  })
  return quadrant < 2 ? sum : negate(sum)
}
export const sin = (x: Exact): Exact => (x.m < 0n ? negate(sinusoid(x, 0)) : sinusoid(x, 0))
export const cos = (x: Exact): Exact => sinusoid(x, 1)

export function sqrt(x: Exact): Exact {
  const odd = x.e & 1
  const square = x.m << BigInt(2 * PRECISION + odd)
  let root = 1n << BigInt(Math.ceil(bitLength(square) / 2))
  for (let next = root - 1n; next < root; next = (root + square / root) / 2n) root = next
  return rounded(root, (x.e - odd) / 2 - PRECISION, PRECISION)
}
const sqrtPi = sqrt(shortPi)
const sqrtHalf = sqrt(half(one))

export function erf(x: Exact): Exact {
  if (leading(x) >= 1) return x.m > 0n ? subtract(one, erfc(x)) : subtract(erfc(negate(x)), one)
  // erf x = 2/√π e^(-x²) Σ 2^n x^(2n+1) / (1 · 3 · ... · (2n+1)), in which nothing cancels
  const square = multiply(x, x)
  const sum = series((n, term) =>
    n === 0 ? x : divide(multiply(term, { m: square.m, e: square.e + 1 }), integer(2 * n + 1)),
  )
  return divide(multiply(multiply(integer(2), sum), exp(negate(square))), sqrtPi)
}

export function erfc(x: Exact): Exact {
  if (x.m <= 0n || leading(x) < 1) return subtract(one, erf(x))
  // The continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + ..., for x >= 2 as far as 100 bits need
  let fraction = x
  for (let n = 20 + Math.ceil(720 / inUnits(multiply(x, x), 0)); n > 0; n--)
    fraction = add(x, divide({ m: BigInt(n), e: -1 }, fraction))
  return divide(exp(negate(multiply(x, x))), multiply(fraction, sqrtPi))
}

export const gelu = (x: Exact): Exact => half(multiply(x, erfc(multiply(negate(x), sqrtHalf))))

/** x / (1 + e^-z) with z = 2 √(2/π) (x + 0.044715 x³) */
export function geluTanh(x: Exact): Exact {
  const cube = multiply(x, multiply(x, x))
  const inner = add(x, divide(multiply(integer(44715), cube), integer(1000000)))
  const z = divide(multiply(multiply({ m: 1n, e: 2 }, sqrtHalf), inner), sqrtPi)
  return multiply(x, sigmoid(z))
}

export const reciprocal = (x: Exact): Exact => divide(one, x)
