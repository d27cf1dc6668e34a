// sonde for C++: the same as sonde.h, with scopes.
//
//   void Step() {
//     SONDE_SCOPE("step");
//     ...
//   }
//
// What costs nothing there costs nothing here: see sonde.h.

#ifndef SONDE_SONDE_HPP_
#define SONDE_SONDE_HPP_

#include <sonde/sonde.h>

#include <initializer_list>

namespace sonde {
// These are compiled into programs: should one of them ever have to look
// different, it will be in another namespace and both can be in one program.
inline namespace v1 {

// A name that is looked up once. Make it static.
class Name {
 public:
  constexpr explicit Name(const char* text, const char* category = nullptr,
                          uint32_t argb = 0)
      : site_{text, category, argb, 0, 0} {}
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

  // 0 while nobody records.
  uint32_t id() { return sonde_abi_recording() ? sonde_site_id(&site_) : 0; }
  sonde_site* site() { return &site_; }

 private:
  sonde_site site_;
};

// An argument. The key is looked up each time it is made; pass an id (of a
// static Name) where that counts.
class Arg : public sonde_arg {
 public:
  Arg(const char* name, const char* text)
      : sonde_arg(sonde_arg_text(sonde_name(name), text)) {}
  Arg(const char* name, double v)
      : sonde_arg(sonde_arg_double(sonde_name(name), v)) {}
  Arg(const char* name, bool v)
      : sonde_arg(sonde_arg_bool(sonde_name(name), v)) {}
  Arg(const char* name, int v) : Arg(name, static_cast<long long>(v)) {}
  Arg(const char* name, long v) : Arg(name, static_cast<long long>(v)) {}
  Arg(const char* name, long long v)
      : sonde_arg(sonde_arg_int(sonde_name(name), v)) {}
  Arg(const char* name, unsigned v)
      : Arg(name, static_cast<unsigned long long>(v)) {}
  Arg(const char* name, unsigned long v)
      : Arg(name, static_cast<unsigned long long>(v)) {}
  Arg(const char* name, unsigned long long v)
      : sonde_arg(sonde_arg_uint(sonde_name(name), v)) {}
  Arg(const char* name, const void* v)
      : sonde_arg(sonde_arg_pointer(sonde_name(name), v)) {}
  Arg(const sonde_arg& arg) : sonde_arg(arg) {}
};

// A slice from here to the end of the scope. Ends on the thread it began on. A
// slice that began while nobody recorded does not end in a recording.
class Scope {
 public:
  explicit Scope(sonde_site* site) : began_(sonde_abi_recording()) {
    if (began_) sonde_begin_inline(site);
  }
  Scope(Name& name, std::initializer_list<Arg> args)
      : began_(sonde_abi_recording()) {
    if (began_) sonde_begin_args(name.id(), args.begin(), args.size());
  }
  ~Scope() {
    if (began_) sonde_end_inline();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const bool began_;
};

// A range that may end on another thread. Ends with the object.
class Range {
 public:
  explicit Range(Name& name) {
    if (!sonde_abi_recording()) return;
    id_ = sonde_new_id();
    sonde_range_begin(name.id(), id_);
  }
  Range(Range&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  Range& operator=(Range&&) = delete;
  ~Range() {
    if (id_ != 0) sonde_range_end(id_);
  }

  uint64_t id() const { return id_; }

 private:
  uint64_t id_ = 0;
};

}  // namespace v1
}  // namespace sonde

#define SONDE_CAT2_(a, b) a##b
#define SONDE_CAT1_(a, b) SONDE_CAT2_(a, b)
// A slice from here to the end of the scope.
#define SONDE_SCOPE(name)                                                  \
  static sonde_site SONDE_CAT1_(sonde_site_, __LINE__) = SONDE_SITE(name); \
  const ::sonde::Scope SONDE_CAT1_(                                        \
      sonde_scope_, __LINE__)(&SONDE_CAT1_(sonde_site_, __LINE__))

#endif  // SONDE_SONDE_HPP_
