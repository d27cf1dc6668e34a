// Definitions: texts, labels, tracks and clocks that records refer to by id.
//
//  - The same definition has the same id in the whole process and, if it was
//    made before fork(), in its children.
//  - Definitions are not in the ring: they are never dropped for want of a
//    block and are there after SIGKILL. The id of a definition is its
//    place, so each can be read without the others.
//  - No locks. Two threads that define the same at once may get two ids.

#ifndef SONDE_SDK_NAMES_H_
#define SONDE_SDK_NAMES_H_

#include "sdk/process.h"

namespace sonde::guest {

// The id, or 0 if there is no room left (which is counted).
uint32_t Define(Process* p, NameKind kind, const void* bytes, size_t size);

// Texts longer than SONDE_MAX_TEXT are cut. Null and "" are 0.
uint32_t DefineText(Process* p, const char* text, size_t size);
uint32_t DefineText(Process* p, const char* text);

// A name with what belongs to it; the name's own id if nothing does. `cls` is
// of sonde_class; a null `source` is the program itself.
uint32_t DefineLabel(Process* p, const char* name, const char* category,
                     uint32_t color, uint32_t cls = 0,
                     const char* source = nullptr);

// Finds again what was copied from the process that forked.
void IndexNames(Process* p, uint64_t end);

}  // namespace sonde::guest

#endif  // SONDE_SDK_NAMES_H_
