#ifndef SONDE_COLLECT_STACKS_PYTHON_FINDER_H_
#define SONDE_COLLECT_STACKS_PYTHON_FINDER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/stacks/elf_file.h"
#include "collect/stacks/process_memory.h"
#include "collect/stacks/python_layout.h"

namespace sonde {

// The CPython that a process runs.
struct FoundPython {
  std::string version;     // "3.11.2"; "3.9" where it says no more
  std::string file;        // as /proc/PID/maps names it
  uint64_t runtime = 0;    // address of _PyRuntime
  uint64_t code_type = 0;  // of PyCode_Type, 0 if it is not known
  // The function that runs frames, _PyEval_EvalFrameDefault, and parts that the
  // compiler put elsewhere, by address. Of a stripped file only the first.
  std::vector<ElfFile::Function> eval;
  // Functions of the interpreter that are worth a name of their own on a stack,
  // by address: its garbage collector, regular expressions, sorting and
  // arithmetic of long numbers. None if it is stripped.
  std::vector<ElfFile::Function> notable;
  PythonLayout layout;
};

// Looks for an interpreter in the files that the process maps: its program, and
// libraries called libpython. An Error of kind
//   kNotFound     there is no Python;
//   kUnsupported  there is one that cannot be read: the version, a
//   free-threaded
//                 or debug build, another processor;
//   kDenied       the process or its files may not be read; the hint has the
//                 cure;
//   kCorrupt      what is there makes no sense.
Result<FoundPython> FindPython(ProcessMemory& memory);

// The path of the program that a process runs; empty if that cannot be read.
std::string ProgramOf(pid_t pid);
// The same without its folder.
std::string ProgramName(pid_t pid);
bool LooksLikePython(pid_t pid);

// What the name of a program or library says: "libpython3.8.so.1.0" is 3.8.
// 0.0 if the name is of no Python or has no version.
struct NamedPython {
  int major = 0;
  int minor = 0;
  std::string flags;  // behind the version: "d", "t"
};
NamedPython PythonOfName(std::string_view path);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_PYTHON_FINDER_H_
