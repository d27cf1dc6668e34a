#ifndef SONDE_EXPORT_CHROME_IDS_H_
#define SONDE_EXPORT_CHROME_IDS_H_

#include <cstdint>
#include <map>
#include <set>

#include "store/store.h"

namespace sonde {

// The pids and tids under which a trace appears in Chrome JSON, where a number
// is all that tells two processes apart.
//
//  - A process has its real pid, unless another process of the recording had it
//    before: then a pseudo pid that no kernel gives (2^22 and more).
//  - The machine, and everything without a process, is one more pseudo process.
//  - Every row has a tid of its own, unique in the whole trace: that of its
//    thread for the thread's first row, else a pseudo tid. Never 0; all ids fit
//    31 bits.
class ChromeIds {
 public:
  static constexpr uint32_t kFirstPseudo = 1u << 22;  // Linux: pid_max at most
  static constexpr uint32_t kMachine = kFirstPseudo;

  explicit ChromeIds(const Store& store);

  // kMachine for 0 and for processes the trace does not explain.
  uint32_t PidOf(uint32_t process) const;
  uint32_t TidOf(uint32_t track) const;
  uint32_t NewTid() { return next_++; }

 private:
  uint32_t Claim(int64_t real, std::set<uint32_t>& taken);

  std::map<uint32_t, uint32_t> pids_;
  std::map<uint32_t, uint32_t> tids_;
  uint32_t next_ = kFirstPseudo + 1;
};

}  // namespace sonde

#endif  // SONDE_EXPORT_CHROME_IDS_H_
