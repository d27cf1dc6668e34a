#include "export/pai/gd_library.h"

#include <dlfcn.h>

namespace sonde {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<const GdLibrary*> GdLibrary::Load() {
  static GdLibrary gd = {};
  if (gd.create != nullptr) return &gd;
  void* const library = ::dlopen("libgd.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error{Error::Kind::kUnsupported,
                 "pictures need libgd.so.3, which cannot be loaded",
                 "apt-get install libgd3"};
  GdLibrary found = {};
  const bool all = Find(library, "gdImageCreateTrueColor", found.create) &&
                   Find(library, "gdImageDestroy", found.destroy) &&
                   Find(library, "gdImageColorAllocate", found.color) &&
                   Find(library, "gdImageFilledRectangle", found.rectangle) &&
                   Find(library, "gdImageLine", found.line) &&
                   Find(library, "gdImageString", found.text) &&
                   Find(library, "gdImageStringUp", found.text_up) &&
                   Find(library, "gdImagePngPtr", found.png) &&
                   Find(library, "gdFree", found.free) &&
                   Find(library, "gdFontGetSmall", found.small) &&
                   Find(library, "gdFontGetMediumBold", found.bold);
  if (!all)
    return Error{Error::Kind::kUnsupported, "libgd.so.3 is not the one we know",
                 "apt-get install libgd3"};
  gd = found;
  return &gd;
}

}  // namespace sonde
