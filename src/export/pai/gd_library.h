#ifndef SONDE_EXPORT_PAI_GD_LIBRARY_H_
#define SONDE_EXPORT_PAI_GD_LIBRARY_H_

#include <gd.h>
#include <gdfontmb.h>
#include <gdfonts.h>

#include "base/result.h"

namespace sonde {

// The functions of libgd that we use. The library is loaded only when a picture
// is drawn: with the forty libraries that libgd brings, `sonde run` would take
// three times as long to start.
struct GdLibrary {
  decltype(&gdImageCreateTrueColor) create;
  decltype(&gdImageDestroy) destroy;
  decltype(&gdImageColorAllocate) color;
  decltype(&gdImageFilledRectangle) rectangle;
  decltype(&gdImageLine) line;
  decltype(&gdImageString) text;
  decltype(&gdImageStringUp) text_up;
  decltype(&gdImagePngPtr) png;
  decltype(&gdFree) free;
  decltype(&gdFontGetSmall) small;
  decltype(&gdFontGetMediumBold) bold;

  // Stays loaded until the end.
  static Result<const GdLibrary*> Load();
};

}  // namespace sonde

#endif  // SONDE_EXPORT_PAI_GD_LIBRARY_H_
