// Error and Result: how a function below the CLI says it could not do its job.

#ifndef SONDE_BASE_RESULT_H_
#define SONDE_BASE_RESULT_H_

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace sonde {

// What went wrong, in words a user can act on.
//
// `what` names the thing, then the failure: "run.sonde: not a trace file".
// `hint` names the next step, or is empty: "see `sonde doctor`".
// `kind` is for code that must choose; there is one per decision a caller
// makes, not one per cause.
struct Error {
  enum class Kind { kNotFound, kDenied, kCorrupt, kUnsupported, kUsage, kIo };

  Kind kind;
  std::string what;
  std::string hint = {};
};

// A T or an Error. Look before you take: taking the absent side is a bug and
// stops the program.
template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }

  const T& value() const {
    CHECK(ok());
    return std::get<T>(state_);
  }
  T Take() {
    CHECK(ok());
    return std::get<T>(std::move(state_));
  }

  const Error& error() const {
    CHECK(!ok());
    return std::get<Error>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<>;
inline Status Ok() { return std::monostate{}; }

// TRY(auto chunk, reader.Next()): takes the value, or returns the error.
#define TRY(decl, expr) SONDE_TRY_(decl, expr, SONDE_CAT_(try_, __COUNTER__))
#define SONDE_TRY_(decl, expr, tmp)  \
  auto tmp = (expr);                 \
  if (!tmp.ok()) return tmp.error(); \
  decl = tmp.Take()
// TRY_OK(Close()): returns the error of a Status, or goes on.
#define TRY_OK(expr)                                                           \
  do {                                                                         \
    if (auto try_status = (expr); !try_status.ok()) return try_status.error(); \
  } while (0)
#define SONDE_CAT_(a, b) SONDE_CAT2_(a, b)
#define SONDE_CAT2_(a, b) a##b

}  // namespace sonde

#endif  // SONDE_BASE_RESULT_H_
