#ifndef SONDE_COLLECT_STACKS_CALL_NAME_H_
#define SONDE_COLLECT_STACKS_CALL_NAME_H_

#include <cstdint>
#include <string>

namespace sonde {

// The name of a system call of this machine in which threads sleep: "futex". Of
// one that is not among the usual ones "system call 123".
std::string CallName(int64_t number);

}  // namespace sonde

#endif  // SONDE_COLLECT_STACKS_CALL_NAME_H_
