#include "analyze/pattern/autocorrelation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "base/check.h"

namespace sonde {
namespace {

using Complex = std::complex<double>;

// std::complex's own product looks for infinities, which takes most of the
// time.
Complex Product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

// The discrete Fourier transform of a power of two of values, in place.
void Transform(std::vector<Complex>& z) {
  const size_t n = z.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(z[i], z[j]);
  }
  std::vector<Complex> turn(n / 2);
  for (size_t k = 0; k < n / 2; ++k)
    turn[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) /
                                  static_cast<double>(n));
  for (size_t half = 1; half < n; half *= 2) {
    const size_t stride = n / (2 * half);
    for (size_t block = 0; block < n; block += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex odd = Product(z[block + half + k], turn[k * stride]);
        z[block + half + k] = z[block + k] - odd;
        z[block + k] += odd;
      }
    }
  }
}

}  // namespace

Autocorrelation AutocorrelationOf(std::span<const double> values,
                                  std::span<const uint8_t> known,
                                  size_t max_lag) {
  CHECK(values.size() == known.size());
  Autocorrelation out;
  out.at.resize(max_lag + 1);
  out.pairs.resize(max_lag + 1);
  if (values.empty()) return out;
  double squares = 0, count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!known[i]) continue;
    squares += values[i] * values[i];
    ++count;
  }
  if (!(squares > 0) || !std::isfinite(squares)) return out;
  const double unit = std::sqrt(squares / count);
  // Room for every lag: what is shifted out must not come in on the other side.
  const size_t n = std::bit_ceil(values.size() + max_lag + 1);
  // Two real series in one complex one: the values, and which are known. They
  // are of one size, or one would drown in the other's rounding.
  std::vector<Complex> z(n);
  for (size_t i = 0; i < values.size(); ++i)
    if (known[i]) z[i] = {values[i] / unit, 1};
  Transform(z);
  std::vector<Complex> power(n);
  for (size_t k = 0; k < n; ++k) {
    const Complex mirrored = std::conj(z[(n - k) % n]);
    power[k] = {std::norm(z[k] + mirrored) / 4, std::norm(z[k] - mirrored) / 4};
  }
  // Power is even, so that the transform is its own inverse but for the scale.
  Transform(power);
  const double scale = 1 / static_cast<double>(n);
  for (size_t lag = 0; lag <= max_lag; ++lag) {
    out.pairs[lag] = std::max(0.0, std::round(power[lag].imag() * scale));
    if (out.pairs[lag] > 0)
      out.at[lag] = power[lag].real() * scale / out.pairs[lag];
  }
  return out;
}

}  // namespace sonde
