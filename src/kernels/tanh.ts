// The hyperbolic tangent.
import { ordinaryExponential } from "./exponential";
import { multiplyAdd } from "./simd";
import { entry, polynomial } from "./vector";

const ONE = 0;
const LIMIT = 1; // of the polynomial
const LARGEST = 2; // tanh rounds to 1
const SINGLE = memory.data<f32>([1, 0.625, 10]);
const DOUBLE = memory.data<f64>([1, 0.625, 20]);

// (tanh x / x - 1) / z in z = x² for |x| <= 0.625, minimax (Remez). Error relative to tanh x / x: 2^-26.7 and 2^-56.2.
const SMALL_SINGLE = memory.data<f32>([
  -0.3333328068256378, 0.13331440091133118, -0.0537395216524601, 0.02063843049108982, -0.005704223178327084,
]);
const SMALL_DOUBLE = memory.data<f64>([
  -0.33333333333332854, 0.13333333333261882, -0.05396825393117106, 0.02186948757389114, -0.008863220973887734,
  0.003591988942808468, -0.001454957695249542, 0.0005863126736967752, -0.0002285563989975552, 7.713548173441859e-5,
  -1.6068220304504575e-5,
]);

/** tanh x in each lane: a polynomial for small |x|, else 1 - 2 e / (1 + e) with e = e^(-2|x|). */
@inline
export function hyperbolicTangent<T>(x: v128): v128 {
  const one = entry<T>(SINGLE, DOUBLE, ONE);
  const magnitude = v128.abs<T>(x);
  const z = v128.mul<T>(x, x);
  const degree = sizeof<T>() == 4 ? 4 : 10;
  const series = polynomial<T>(z, v128.mul<T>(z, z), SMALL_SINGLE, SMALL_DOUBLE, degree);
  const small = multiplyAdd<T>(v128.mul<T>(magnitude, z), series, magnitude);
  const bounded = v128.pmin<T>(magnitude, entry<T>(SINGLE, DOUBLE, LARGEST));
  const e = ordinaryExponential<T>(v128.neg<T>(v128.add<T>(bounded, bounded)));
  const large = v128.sub<T>(one, v128.div<T>(v128.add<T>(e, e), v128.add<T>(one, e)));
  // A NaN is not below the limit and stays one in `large`.
  const isSmall = v128.lt<T>(magnitude, entry<T>(SINGLE, DOUBLE, LIMIT));
  return v128.or(v128.bitselect(small, large, isSmall), v128.xor(x, magnitude));
}
