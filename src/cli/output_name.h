#ifndef SONDE_CLI_OUTPUT_NAME_H_
#define SONDE_CLI_OUTPUT_NAME_H_

#include <ctime>
#include <string>

#include "base/result.h"

namespace sonde {

// How the name of a trace ends.
inline constexpr char kTraceSuffix[] = ".sonde";

// "sonde-train.py-20260102-030405.sonde" for the command "./train.py": its last
// part, without anything a shell or a person would trip over.
std::string DefaultTraceName(const std::string& command, const tm& time);

// Where the trace goes, as an absolute path that can be made (or with `force`
// made anew, unless it is still being recorded). Without `output`, a fresh
// default name in the working directory.
Result<std::string> ChooseOutput(const std::string& output,
                                 const std::string& command, bool force);

}  // namespace sonde

#endif  // SONDE_CLI_OUTPUT_NAME_H_
