#include "collect/bpf/bpf_calls.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "collect/proc/container.h"

namespace sonde {
namespace {

// Helpers of the kernel that read memory are for programs that say this.
constexpr char kLicense[] = "Dual BSD/GPL";

int Bpf(bpf_cmd command, bpf_attr& attr) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attr, sizeof(attr)));
}

uint64_t AddressOf(const void* at) { return reinterpret_cast<uint64_t>(at); }

template <size_t kSize>
void SetName(char (&out)[kSize], const char* name) {
  std::strncpy(out, name, kSize - 1);
}

// The line before the kernel's sums says what it did not like.
std::string LastComplaint(std::string_view log) {
  std::string out;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (!line.empty() && !line.starts_with("processed ")) out = line;
  }
  return out;
}

}  // namespace

Error BpfError(const std::string& thing, int saved_errno) {
  if (saved_errno == ENOSYS)
    return {Error::Kind::kUnsupported, "this kernel was built without BPF",
            "use a kernel with CONFIG_BPF_SYSCALL"};
  Error out = ErrnoError(thing, saved_errno);
  if (saved_errno != EPERM) {
    out.kind = Error::Kind::kUnsupported;
    return out;
  }
  out.hint = InContainer() ? "docker run --cap-add BPF --cap-add PERFMON ..."
                           : "sudo setcap cap_bpf,cap_perfmon+ep "
                             "$(command -v sonde)";
  return out;
}

Result<Fd> MakeBpfMap(const BpfMapShape& shape) {
  bpf_attr attr = {};
  attr.map_type = shape.type;
  attr.key_size = shape.key_bytes;
  attr.value_size = shape.value_bytes;
  attr.max_entries = shape.entries;
  SetName(attr.map_name, shape.name);
  Fd out(Bpf(BPF_MAP_CREATE, attr));
  if (!out.valid())
    return BpfError(std::string("BPF map ") + shape.name, errno);
  return out;
}

Status SetInBpfMap(int map, const void* key, const void* value) {
  bpf_attr attr = {};
  attr.map_fd = static_cast<uint32_t>(map);
  attr.key = AddressOf(key);
  attr.value = AddressOf(value);
  if (Bpf(BPF_MAP_UPDATE_ELEM, attr) == 0) return Ok();
  return BpfError("BPF map", errno);
}

void DropFromBpfMap(int map, const void* key) {
  bpf_attr attr = {};
  attr.map_fd = static_cast<uint32_t>(map);
  attr.key = AddressOf(key);
  Bpf(BPF_MAP_DELETE_ELEM, attr);
}

Result<Fd> LoadBpfProgram(std::span<const uint64_t> instructions,
                          const char* name) {
  bpf_attr attr = {};
  attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
  attr.insns = AddressOf(instructions.data());
  attr.insn_cnt = static_cast<uint32_t>(instructions.size());
  attr.license = AddressOf(kLicense);
  SetName(attr.prog_name, name);
  Fd out(Bpf(BPF_PROG_LOAD, attr));
  if (out.valid()) return out;
  Error error = BpfError(std::string("BPF program ") + name, errno);
  if (error.kind == Error::Kind::kDenied) return error;
  // Once more, with the kernel's words: to write these down costs time.
  std::vector<char> log(256 << 10);
  attr.log_buf = AddressOf(log.data());
  attr.log_size = static_cast<uint32_t>(log.size());
  attr.log_level = 1;
  out = Fd(Bpf(BPF_PROG_LOAD, attr));
  if (out.valid()) return out;
  log.back() = '\0';
  if (const std::string why = LastComplaint(log.data()); !why.empty())
    error.what += " (" + why + ")";
  return error;
}

}  // namespace sonde
