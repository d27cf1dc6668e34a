#ifndef SONDE_COLLECT_PROC_LEAVE_PARENT_H_
#define SONDE_COLLECT_PROC_LEAVE_PARENT_H_

#include <sys/types.h>

#include <vector>

namespace sonde {

// What a child that was forked calls first, so that whatever code of others
// does in it touches nothing of ours.
//
//  - It ends when its parent, of this pid, does.
//  - It has none of our descriptors but `keep`, least of all the lock that says
//    that the session lives; its input is empty, what it prints is not shown.
//  - It is called `name` in lists of processes and leaves no core file.
void LeaveParent(pid_t parent, const char* name, std::vector<int> keep = {});

}  // namespace sonde

#endif  // SONDE_COLLECT_PROC_LEAVE_PARENT_H_
