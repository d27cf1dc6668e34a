#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "collect/session/gatherers.h"

namespace sonde {
namespace {

void PrintJson() {
  nlohmann::json list = nlohmann::json::array();
  for (const SourceInfo* const source : Sources()) {
    const SourceState state = source->check();
    nlohmann::json row = {{"source", source->name},
                          {"gathers", source->gathers},
                          {"works", state.works}};
    if (state.works) {
      row["detail"] = state.detail;
    } else {
      row["why"] = state.why;
      row["cure"] = state.cure;
    }
    list.push_back(std::move(row));
  }
  const nlohmann::json out = {{"version", 1}, {"sources", list}};
  std::puts(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                .c_str());
}

void PrintText() {
  size_t working = 0;
  const std::vector<const SourceInfo*> sources = Sources();
  for (const SourceInfo* const source : sources) {
    const SourceState state = source->check();
    working += state.works ? 1 : 0;
    fmt::print("{:<4} {:<18} {}\n", state.works ? "ok" : "no", source->name,
               Printable(state.works ? state.detail : state.why));
    if (!state.works && !state.cure.empty())
      fmt::print("{:<24}-> {}\n", "", Printable(state.cure));
  }
  fmt::print("\n{} of {} sources work here.\n", working, sources.size());
}

}  // namespace

Result<int> RunDoctor(const Args& args) {
  CLI::App app(
      "Says what can be recorded here, and for the rest the command that "
      "enables it.",
      "doctor");
  bool json = false;
  app.add_flag("--json", json, "For machines: one JSON object");
  TRY(const bool go_on, ParseArgs(app, args));
  if (!go_on) return 0;
  if (json)
    PrintJson();
  else
    PrintText();
  return 0;
}

}  // namespace sonde
