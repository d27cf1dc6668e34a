#include "collect/proc/process_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "collect/proc/text_scanner.h"

namespace sonde {
namespace {

constexpr uint64_t kExitingFlag = 0x4;              // PF_EXITING of the kernel
constexpr uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

// The number behind the last line that begins with `key`. The last, because a
// process chooses the name that stands in the first line.
std::optional<uint64_t> LastField(std::string_view text, std::string_view key) {
  std::optional<uint64_t> found;
  TextScanner in(text);
  while (!in.done()) {
    std::string_view line = in.Line();
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (!line.starts_with(':')) continue;
    uint64_t value = 0;
    if (TextScanner(line.substr(1)).Number(&value)) found = value;
  }
  return found;
}

bool ParseHex(std::string_view word, uint64_t* value) {
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, *value, 16);
  return !word.empty() && error == std::errc() && at == end;
}

// How an interpreter spells its options. Letters of one-letter options.
struct Interpreter {
  std::string_view name;    // the program's name begins with it
  std::string_view code;    // the next word is code, not a script
  std::string_view module;  // the next word is a module
  std::string_view value;   // the next word is a value
};
constexpr std::array<Interpreter, 12> kInterpreters = {{
    {"python", "c", "m", "WX"},
    {"pypy", "c", "m", "WX"},
    {"sh", "c", "", "oO"},
    {"bash", "c", "", "oO"},
    {"dash", "c", "", "oO"},
    {"zsh", "c", "", "oO"},
    {"ksh", "c", "", "oO"},
    {"node", "ep", "", "r"},
    {"perl", "eE", "", "I"},
    {"ruby", "e", "", "rIE"},
    {"lua", "e", "", "l"},
    {"Rscript", "e", "", ""},
}};

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "python3.11" is python, "shuf" is not sh: behind the name only digits, dots
// and a 't' (free-threaded builds) may stand.
const Interpreter* FindInterpreter(std::string_view program) {
  if (program.starts_with('-')) program.remove_prefix(1);  // a login shell
  for (const Interpreter& one : kInterpreters)
    if (program.starts_with(one.name) &&
        program.find_first_not_of("0123456789.t", one.name.size()) ==
            std::string_view::npos)
      return &one;
  return nullptr;
}

std::string ShortJava(const std::vector<std::string>& argv) {
  std::string out = argv[0];
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool has_next = i + 1 < argv.size();
    if (word == "-jar" || word == "-m" || word == "--module")
      return has_next ? out + " " + word + " " + argv[i + 1] : out;
    if (word == "-cp" || word == "-classpath" || word == "--class-path" ||
        word == "-p" || word == "--module-path") {
      ++i;
    } else if (!word.starts_with('-')) {
      return out + " " + word;
    }
  }
  return out;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  const size_t open = text.find('(');
  // A name may hold ')', the fields behind it cannot.
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos ||
      close < open)
    return std::nullopt;
  ProcessStat out;
  out.comm = text.substr(open + 1, close - open - 1);
  TextScanner in(text.substr(close + 1));
  const std::string_view state = in.Word();
  uint64_t ppid = 0, flags = 0;
  if (state.size() != 1 || !in.Number(&ppid) || !in.SkipWords(4) ||
      !in.Number(&flags) || !in.Number(&out.minor_faults) || !in.SkipWords(1) ||
      !in.Number(&out.major_faults) || !in.SkipWords(1) ||
      !in.Number(&out.user_ticks) || !in.Number(&out.system_ticks) ||
      !in.SkipWords(4) || !in.Number(&out.threads) || !in.SkipWords(1) ||
      !in.Number(&out.start_ticks) || !in.SkipWords(1) ||
      !in.Number(&out.resident_pages))
    return std::nullopt;
  out.state = state[0];
  out.ppid = static_cast<pid_t>(ppid);
  out.exiting = (flags & kExitingFlag) != 0;
  out.kernel = (flags & kKernelThreadFlag) != 0;
  if (!in.SkipWords(3) || !in.Number(&out.start_stack)) return out;
  if (out.state == 'Z' || out.state == 'X') {
    // Field 52. The kernel shows 0 there to those who may not look.
    uint64_t status = 0;
    if (in.SkipWords(23) && in.Number(&status) && status <= 0xffff)
      out.wait_status = static_cast<int>(status);
  }
  return out;
}

std::optional<ProcessIo> ParseProcessIo(std::string_view text) {
  ProcessIo out;
  const std::array<std::pair<std::string_view, uint64_t*>, 6> fields = {{
      {"rchar:", &out.read_chars},
      {"wchar:", &out.write_chars},
      {"syscr:", &out.read_calls},
      {"syscw:", &out.write_calls},
      {"read_bytes:", &out.read_bytes},
      {"write_bytes:", &out.write_bytes},
  }};
  TextScanner in(text);
  for (const auto& [key, value] : fields) {
    if (in.Word() != key || !in.Number(value)) return std::nullopt;
    in.Line();
  }
  return out;
}

std::optional<Switches> ParseSwitches(std::string_view text) {
  // They are the last two lines; what stands before is not looked at.
  text = text.substr(text.size() - std::min<size_t>(text.size(), 200));
  const auto voluntary = LastField(text, "voluntary_ctxt_switches");
  const auto involuntary = LastField(text, "nonvoluntary_ctxt_switches");
  if (!voluntary || !involuntary) return std::nullopt;
  return Switches{*voluntary, *involuntary};
}

std::optional<uint64_t> ParseRssFileBytes(std::string_view text) {
  // A name has no line ends: the kernel writes them as \\n.
  constexpr std::string_view kKey = "\nRssFile:";
  const size_t at = text.find(kKey);
  uint64_t kilobytes = 0, bytes = 0;
  if (at == std::string_view::npos ||
      !TextScanner(text.substr(at + kKey.size())).Number(&kilobytes) ||
      __builtin_mul_overflow(kilobytes, uint64_t{1024}, &bytes))
    return std::nullopt;
  return bytes;
}

std::optional<SchedStat> ParseSchedStat(std::string_view text) {
  TextScanner in(text);
  SchedStat out;
  if (!in.Number(&out.run_ns) || !in.Number(&out.wait_ns) ||
      !in.Number(&out.slices))
    return std::nullopt;
  return out;
}

std::optional<int64_t> ParseSyscall(std::string_view text) {
  constexpr uint64_t kMost = 1 << 16;
  if (text.starts_with("-1 ")) return -1;
  TextScanner in(text);
  uint64_t number = 0;
  if (!in.Number(&number) || number > kMost || !in.rest().starts_with(" 0x"))
    return std::nullopt;
  return static_cast<int64_t>(number);
}

namespace {

std::optional<uint64_t> HexWord(std::string_view word) {
  uint64_t value = 0;
  if (!word.starts_with("0x") || word.size() == 2) return std::nullopt;
  const auto [end, error] =
      std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  if (error != std::errc() || end != word.data() + word.size())
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<BlockedAt> ParseBlockedAt(std::string_view text) {
  constexpr int kArguments = 6;
  const auto call = ParseSyscall(text);
  if (!call) return std::nullopt;
  TextScanner in(text);
  if (!in.SkipWords(*call < 0 ? 1 : 1 + kArguments)) return std::nullopt;
  const auto sp = HexWord(in.Word());
  const auto pc = HexWord(in.Word());
  if (!sp || !pc || in.rest() != "\n") return std::nullopt;
  return BlockedAt{*call, *sp, *pc};
}

std::optional<pid_t> ParseOwnPid(std::string_view text) {
  // A name has no line ends: the kernel writes them as \\n.
  constexpr std::string_view kKey = "\nNSpid:";
  const size_t at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  TextScanner in(TextScanner(text.substr(at + kKey.size())).Line());
  uint64_t pid = 0;
  while (in.Number(&pid)) {
  }
  if (!in.done() || pid == 0 || pid > INT32_MAX) return std::nullopt;
  return static_cast<pid_t>(pid);
}

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> out;
  TextScanner lines(text);
  while (!lines.done()) {
    TextScanner in(lines.Line());
    Mapping one;
    const std::string_view range = in.Word();
    const size_t dash = range.find('-');
    const std::string_view rights = in.Word();
    if (dash == std::string_view::npos || rights.size() != 4 ||
        !ParseHex(range.substr(0, dash), &one.begin) ||
        !ParseHex(range.substr(dash + 1), &one.end) || one.end <= one.begin ||
        !ParseHex(in.Word(), &one.offset) || !in.SkipWords(1) ||
        !in.Number(&one.inode))
      continue;
    one.writable = rights[1] == 'w';
    one.executable = rights[2] == 'x';
    in.SkipSpaces();
    one.path = in.rest();
    out.push_back(one);
  }
  return out;
}

std::optional<uint64_t> ParsePssBytes(std::string_view text) {
  const auto pss = LastField(text, "Pss");
  uint64_t bytes = 0;
  if (!pss || __builtin_mul_overflow(*pss, uint64_t{1024}, &bytes))
    return std::nullopt;
  return bytes;
}

std::vector<pid_t> ParseChildren(std::string_view text) {
  std::vector<pid_t> out;
  TextScanner in(text);
  uint64_t pid = 0;
  while (in.Number(&pid) && pid > 0 && pid <= INT32_MAX)
    out.push_back(static_cast<pid_t>(pid));
  return out;
}

std::vector<std::string> ParseCmdline(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string ShortCommand(const std::vector<std::string>& argv) {
  if (argv.empty()) return {};
  const std::string_view program = BaseName(argv[0]);
  if (program == "java") return ShortJava(argv);
  const Interpreter* const kind = FindInterpreter(program);
  if (kind == nullptr) return argv[0];
  std::string out = argv[0];
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    const std::string next = i + 1 < argv.size() ? argv[i + 1] : "";
    if (word == "--") return next.empty() ? out : out + " " + next;
    if (!word.starts_with('-') || word == "-") return out + " " + argv[i];
    if (word.starts_with("--")) {
      if (word == "--eval" || word == "--print") return out + " " + argv[i];
      continue;
    }
    // Letters may be joined: `bash -lc CODE`, `python -Im MODULE`.
    for (size_t at = 1; at < word.size(); ++at) {
      const char letter = word[at];
      const std::string_view attached = word.substr(at + 1);
      if (kind->code.find(letter) != std::string_view::npos)
        return out + " -" + letter;
      if (kind->module.find(letter) != std::string_view::npos)
        return out + " -" + letter + " " +
               (attached.empty() ? next : std::string(attached));
      if (kind->value.find(letter) != std::string_view::npos) {
        if (attached.empty()) ++i;
        break;
      }
    }
  }
  return out;
}

std::string WholeCommand(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

}  // namespace sonde
