// make_trace SEED FILE [--steps N] [--kill-at N] [--max-bytes N] [--text]
//
// A random trace, the same for the same seed. --kill-at stops after N steps
// without Close(), as SIGKILL would; --text writes the text form.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/random_trace.h"
#include "trace/reader.h"
#include "trace/text_writer.h"

namespace sonde {
namespace {

struct Args {
  uint64_t seed = 0;
  std::string path;
  int steps = 300;
  int kill_at = -1;
  int64_t max_bytes = 0;
  bool text = false;
};

Status Make(const Args& args) {
  TraceWriter::Options options;
  options.replace = true;
  options.max_bytes = args.max_bytes;
  TRY(auto writer, TraceWriter::Create(
                       args.path, RandomTrace::HeaderOf(args.seed), options));
  RandomTrace content(args.seed, *writer, true);
  content.Steps(args.kill_at >= 0 ? args.kill_at : args.steps);
  if (args.kill_at >= 0) {
    writer.reset();
  } else {
    TRY_OK(writer->Close());
  }
  if (!args.text) return Ok();
  TRY(const TraceReader trace, TraceReader::Open(args.path));
  const std::string text = TextOf(trace);
  FILE* const file = std::fopen(args.path.c_str(), "we");
  if (!file) return ErrnoError(args.path, errno);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  return Ok();
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  sonde::Args args;
  if (argc < 3) return 2;
  args.seed = std::strtoull(argv[1], nullptr, 10);
  args.path = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--text") {
      args.text = true;
      continue;
    }
    if (i + 1 == argc) return 2;
    const long long value = std::atoll(argv[++i]);
    if (word == "--steps")
      args.steps = static_cast<int>(value);
    else if (word == "--kill-at")
      args.kill_at = static_cast<int>(value);
    else if (word == "--max-bytes")
      args.max_bytes = value;
    else
      return 2;
  }
  const sonde::Status status = sonde::Make(args);
  if (status.ok()) return 0;
  std::fprintf(stderr, "make_trace: %s\n", status.error().what.c_str());
  return 1;
}
