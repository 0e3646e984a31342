// Conversions between dtypes. Floats become integers by truncation, saturating at the range's ends, NaN as 0; anything
// but 0 becomes true (NaN included).

@inline
function convert<From, To>(x: usize, out: usize, n: i32): void {
  for (let i = 0; i < n; i++, x += sizeof<From>(), out += sizeof<To>()) {
    const value = load<From>(x);
    if (sizeof<To>() == 1) store<u8>(out, value != (0 as From));
    else store<To>(out, value as To);
  }
}

export function convert_f32_f64(x: usize, out: usize, n: i32): void {
  convert<f32, f64>(x, out, n);
}

export function convert_f32_i32(x: usize, out: usize, n: i32): void {
  convert<f32, i32>(x, out, n);
}

export function convert_f32_u8(x: usize, out: usize, n: i32): void {
  convert<f32, u8>(x, out, n);
}

export function convert_f64_f32(x: usize, out: usize, n: i32): void {
  convert<f64, f32>(x, out, n);
}

export function convert_f64_i32(x: usize, out: usize, n: i32): void {
  convert<f64, i32>(x, out, n);
}

export function convert_f64_u8(x: usize, out: usize, n: i32): void {
  convert<f64, u8>(x, out, n);
}

export function convert_i32_f32(x: usize, out: usize, n: i32): void {
  convert<i32, f32>(x, out, n);
}

export function convert_i32_f64(x: usize, out: usize, n: i32): void {
  convert<i32, f64>(x, out, n);
}

export function convert_i32_u8(x: usize, out: usize, n: i32): void {
  convert<i32, u8>(x, out, n);
}

export function convert_u8_f32(x: usize, out: usize, n: i32): void {
  convert<u8, f32>(x, out, n);
}

export function convert_u8_f64(x: usize, out: usize, n: i32): void {
  convert<u8, f64>(x, out, n);
}

export function convert_u8_i32(x: usize, out: usize, n: i32): void {
  convert<u8, i32>(x, out, n);
}
