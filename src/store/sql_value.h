#ifndef SONDE_STORE_SQL_VALUE_H_
#define SONDE_STORE_SQL_VALUE_H_

#include <cstdint>
#include <string_view>

namespace sonde {

// One cell of a result. Text is a view that holds until the next row.
struct SqlValue {
  enum class Type { kNull, kInt, kReal, kText, kBlob };

  Type type = Type::kNull;
  int64_t number = 0;
  double real = 0;
  std::string_view text;
  bool lasting = false;  // the text lives as long as the store

  SqlValue() = default;
  SqlValue(int64_t v) : type(Type::kInt), number(v) {}
  SqlValue(double v) : type(Type::kReal), real(v) {}
  SqlValue(std::string_view v, bool lasts = false)
      : type(Type::kText), text(v), lasting(lasts) {}
};

}  // namespace sonde

#endif  // SONDE_STORE_SQL_VALUE_H_
