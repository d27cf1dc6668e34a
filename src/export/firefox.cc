// JSON for the Firefox Profiler (profiler.firefox.com), in its processed format
// of version 61. Page: docs/formats/firefox.md.
//
//     {"meta":{...},"libs":[...],
//     "threads":[{...,"samples":{"stack":[...],"time":[...],"weight":[...]}}],
//     "shared":{"stackTable":{...},"frameTable":{...},"funcTable":{...},...}}
//
// Tables are columns. A row of the stack table is a frame and the row of its
// callers, so a sample is one number.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "export/exporter.h"
#include "export/firefox_stacks.h"
#include "export/json_text.h"
#include "export/output.h"
#include "export/stack_rows.h"
#include "store/stack_sums.h"

namespace sonde {
namespace {

// Colours of functions. The profiler wants a grey one first.
enum FirefoxCategory { kGrey, kYellow, kBlue };
constexpr char kCategories[] =
    R"([{"name":"Other","color":"grey","subcategories":["Other"]},)"
    R"({"name":"Python","color":"yellow","subcategories":["Other"]},)"
    R"({"name":"Native","color":"blue","subcategories":["Other"]}])";
constexpr double kNsPerMs = 1e6;

FirefoxCategory CategoryOf(const Function& function) {
  if (function.language == "python") return kYellow;
  return function.language == "native" ? kBlue : kGrey;
}

std::string JsonName(std::string_view text) {
  std::string out;
  AppendQuoted(Printable(text, kMaxStackName), out);
  return out;
}

class FirefoxWriter {
 public:
  FirefoxWriter(const Store& store, Output& out)
      : store_(store), stacks_(store), out_(out) {}

  void Write(std::span<const RunningSample> samples) {
    Meta(samples);
    out_.Text(
        ",\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],"
        "\n\"threads\":[");
    const char* comma = "\n";
    while (!samples.empty() && !out_.failed()) {
      const auto end = std::find_if(samples.begin(), samples.end(),
                                    [&](const RunningSample& s) {
                                      return s.thread != samples[0].thread;
                                    });
      const auto count = static_cast<size_t>(end - samples.begin());
      out_.Text(comma);
      OneThread(samples.first(count));
      comma = ",\n";
      samples = samples.subspan(count);
    }
    out_.Text("],\n\"shared\":{");
    Shared();
    out_.Text("},\n\"libs\":[");
    Libraries();
    out_.Text("]}\n");
  }

 private:
  double Ms(int64_t time_ns) const {
    return static_cast<double>(time_ns - store_.range().begin_ns) / kNsPerMs;
  }

  void Meta(std::span<const RunningSample> samples) {
    double weights = 0;
    for (const RunningSample& s : samples)
      weights += static_cast<double>(s.weight_ns);
    const double mean_ms =
        weights / static_cast<double>(samples.size()) / kNsPerMs;
    out_.Text(fmt::format(
        "{{\"meta\":{{\"preprocessedProfileVersion\":61,\"version\":31,"
        "\"product\":{},\"interval\":{:.3f},\"startTime\":{:.3f},"
        "\"processType\":0,\"stackwalk\":1,\"debug\":false,"
        "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
        "\"sourceCodeIsNotOnSearchfox\":true,"
        "\"extensions\":{{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}},"
        "\"sampleUnits\":{{\"time\":\"ms\",\"eventDelay\":\"ms\","
        "\"threadCPUDelta\":\"ns\"}},\"markerSchema\":[],"
        "\"importedFrom\":\"sonde\",\"categories\":{}}}",
        JsonName(store_.path()), std::clamp(mean_ms, 0.1, 1000.0),
        static_cast<double>(store_.RealtimeOf(store_.range().begin_ns)) /
            kNsPerMs,
        kCategories));
  }

  // Calls `value(i)` for the text of each of `count` cells.
  template <typename Value>
  void Column(std::string_view name, size_t count, Value value) {
    out_.Text(fmt::format("\"{}\":[", name));
    for (size_t i = 0; i < count && !out_.failed(); ++i) {
      if (i > 0) out_.Text(",");
      out_.Text(value(i));
    }
    out_.Text("]");
  }
  // The same in all cells.
  void Same(std::string_view name, size_t count, std::string_view value) {
    Column(name, count, [&](size_t) { return value; });
  }
  void Next() { out_.Text(","); }

  // A pid is used again, but two processes must not be one.
  std::string PidOf(const Process& process) {
    const auto [at, fresh] = pids_.try_emplace(process.pid, process.number);
    return at->second == process.number
               ? std::to_string(process.pid)
               : fmt::format("{}#{}", process.pid, process.number);
  }

  void OneThread(std::span<const RunningSample> samples) {
    Thread thread;
    Process process;
    if (const auto at = store_.threads().find(samples[0].thread);
        at != store_.threads().end())
      thread = at->second;
    if (const auto at = store_.processes().find(thread.process);
        at != store_.processes().end())
      process = at->second;
    const ThreadName names = NameThread(store_, samples[0].thread);
    const auto end = [&](int64_t time_ns) {
      return time_ns == kNoTime ? "null" : fmt::format("{:.6f}", Ms(time_ns));
    };
    const auto begin = [&](int64_t time_ns) {
      return time_ns == kNoTime ? "0" : fmt::format("{:.6f}", Ms(time_ns));
    };
    out_.Text(fmt::format(
        "{{\"name\":{},\"isMainThread\":{},\"pid\":\"{}\",\"tid\":{},"
        "\"processName\":{},\"processType\":\"default\","
        "\"processStartupTime\":{},\"processShutdownTime\":{},"
        "\"registerTime\":{},\"unregisterTime\":{},\"pausedRanges\":[],\n"
        "\"markers\":{{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],"
        "\"name\":[],\"phase\":[],\"startTime\":[]}},\n"
        "\"samples\":{{\"length\":{},\"weightType\":\"tracing-ms\",",
        JsonName(names.thread), thread.tid == process.pid, PidOf(process),
        thread.tid, JsonName(names.process), begin(process.start_ns),
        end(process.end_ns), begin(thread.start_ns), end(thread.end_ns),
        samples.size()));
    const size_t n = samples.size();
    Column("stack", n, [&](size_t i) {
      return std::to_string(stacks_.Of(samples[i].stack));
    });
    Next();
    Column("time", n, [&](size_t i) {
      return fmt::format("{:.6f}", Ms(samples[i].time_ns));
    });
    Next();
    Column("weight", n, [&](size_t i) {
      return fmt::format("{:.6f}",
                         static_cast<double>(samples[i].weight_ns) / kNsPerMs);
    });
    Next();
    Column("threadCPUDelta", n,
           [&](size_t i) { return std::to_string(samples[i].weight_ns); });
    out_.Text("}}");
  }

  void Shared() {
    const auto& rows = stacks_.rows();
    out_.Text(fmt::format("\"stackTable\":{{\"length\":{},", rows.size()));
    Column("prefix", rows.size(), [&](size_t i) {
      return rows[i].callers == FirefoxStacks::kNoRow
                 ? "null"
                 : std::to_string(rows[i].callers);
    });
    Next();
    Column("frame", rows.size(),
           [&](size_t i) { return std::to_string(rows[i].frame); });
    out_.Text("},\n");
    Frames();
    Functions();
    out_.Text(
        "\"nativeSymbols\":{\"length\":0,\"address\":[],"
        "\"functionSize\":[],\"libIndex\":[],\"name\":[]},\n");
    const auto& strings = strings_.rows();
    Column("stringArray", strings.size(), [&](size_t i) {
      std::string out;
      AppendQuoted(*strings[i], out);
      return out;
    });
  }

  // The first function stands for a stack that is not known.
  const Function& FunctionAt(size_t i) const {
    static const Function kNotKnown = {std::string(kStackNotKnown), "", "", ""};
    return i == 0 ? kNotKnown : stacks_.functions()[i - 1];
  }

  void Frames() {
    const auto& frames = stacks_.frames();
    const size_t n = frames.size();
    const auto function = [&](size_t i) {
      return frames[i].function == kNoPlace.function ? 0
                                                     : frames[i].function + 1;
    };
    out_.Text(fmt::format("\"frameTable\":{{\"length\":{},", n));
    Column("func", n, [&](size_t i) { return std::to_string(function(i)); });
    Next();
    Column("category", n, [&](size_t i) {
      return std::to_string(CategoryOf(FunctionAt(function(i))));
    });
    Next();
    Column("line", n, [&](size_t i) {
      return frames[i].line == 0 ? "null" : std::to_string(frames[i].line);
    });
    for (const auto& [name, value] :
         {std::pair("subcategory", "0"), std::pair("address", "-1"),
          std::pair("inlineDepth", "0"), std::pair("nativeSymbol", "null"),
          std::pair("innerWindowID", "null"), std::pair("column", "null")}) {
      Next();
      Same(name, n, value);
    }
    out_.Text("},\n");
  }

  // With the files and modules that functions are of.
  void Functions() {
    const size_t n = stacks_.functions().size() + 1;
    StringRows files;
    out_.Text(fmt::format("\"funcTable\":{{\"length\":{},", n));
    Column("name", n, [&](size_t i) {
      return std::to_string(strings_.Of(FunctionAt(i).name));
    });
    Next();
    Column("resource", n, [&](size_t i) {
      const std::string_view module = FunctionAt(i).module;
      return module.empty() ? "-1" : std::to_string(modules_.Of(module));
    });
    Next();
    Column("source", n, [&](size_t i) {
      const std::string_view file = FunctionAt(i).file;
      return file.empty() ? "null" : std::to_string(files.Of(file));
    });
    for (const auto& [name, value] :
         {std::pair("isJS", "false"), std::pair("relevantForJS", "false"),
          std::pair("lineNumber", "null"), std::pair("columnNumber", "null")}) {
      Next();
      Same(name, n, value);
    }
    const auto& sources = files.rows();
    out_.Text(fmt::format("}},\n\"sources\":{{\"length\":{},", sources.size()));
    Column("filename", sources.size(),
           [&](size_t i) { return std::to_string(strings_.Of(*sources[i])); });
    for (const auto& [name, value] :
         {std::pair("id", "null"), std::pair("startLine", "1"),
          std::pair("startColumn", "1"), std::pair("sourceMapURL", "null")}) {
      Next();
      Same(name, sources.size(), value);
    }
    const auto& modules = modules_.rows();
    out_.Text(
        fmt::format("}},\n\"resourceTable\":{{\"length\":{},", modules.size()));
    Column("lib", modules.size(), [](size_t i) { return std::to_string(i); });
    Next();
    Column("name", modules.size(), [&](size_t i) {
      return std::to_string(strings_.Of(LastPartOf(*modules[i])));
    });
    Next();
    Same("host", modules.size(), "null");
    Next();
    // A library.
    Same("type", modules.size(), "1");
    out_.Text("},\n");
  }

  static std::string_view LastPartOf(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
  }

  void Libraries() {
    const char* comma = "\n";
    for (const std::string* path : modules_.rows()) {
      const std::string name = JsonName(LastPartOf(*path));
      const std::string whole = JsonName(*path);
      out_.Text(comma);
      out_.Text(fmt::format(
          "{{\"arch\":\"\",\"name\":{0},\"path\":{1},\"debugName\":{0},"
          "\"debugPath\":{1},\"breakpadId\":\"\",\"codeId\":null}}",
          name, whole));
      comma = ",\n";
    }
  }

  const Store& store_;
  FirefoxStacks stacks_;
  Output& out_;
  StringRows strings_, modules_;
  std::map<int32_t, uint32_t> pids_;  // the first process of each
};

}  // namespace

Result<ExportSummary> ExportFirefox(const Store& store,
                                    const ExportOptions& options) {
  TRY(const std::vector<RunningSample> samples, RunningSamples(store));
  TRY(auto out, Output::Create(options.output, options));
  FirefoxWriter(store, *out).Write(samples);
  ExportSummary summary;
  summary.samples = samples.size();
  summary.bytes = out->bytes();
  TRY_OK(out->Commit());
  return summary;
}

}  // namespace sonde
