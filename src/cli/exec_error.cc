#include "cli/exec_error.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/fd.h"
#include "base/shell_word.h"
#include "base/text.h"

namespace sonde {
namespace {

// "NAME=value", which a shell would take for a variable of the command.
bool IsAssignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = word.substr(0, equals);
  return name.find_first_of("0123456789") != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_';
         });
}

// What only a shell understands.
bool NeedsShell(std::string_view text) {
  return text.find_first_of("|&;<>()$`*?~\"'\\\n") != std::string_view::npos;
}

bool IsPython(const std::string& name) { return name.ends_with(".py"); }

Error Directory(const std::string& name) {
  return {Error::Kind::kNotFound,
          fmt::format("{}: is a directory, not a program", Printable(name)),
          fmt::format("sonde run -- {}{}PROGRAM", Printable(name),
                      name.ends_with('/') ? "" : "/")};
}

Error NotFound(const std::vector<std::string>& command) {
  const std::string& name = command[0];
  const std::string shown = Printable(name);
  const auto because = [](std::string what, std::string hint) {
    return Error{Error::Kind::kNotFound, std::move(what), std::move(hint)};
  };
  struct stat st = {};
  const bool exists = ::stat(name.c_str(), &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return Directory(name);
  if (IsAssignment(name)) {
    std::string words;
    for (const std::string& word : command)
      words += fmt::format(" {}", ShellWord(word));
    return because(fmt::format("{}: is a variable, not a command", shown),
                   fmt::format("sonde run -- env{}", words));
  }
  std::string missing = fmt::format("{}: command not found", shown);
  if (name.find_first_of(" \t\n") != std::string::npos && !exists)
    return because(
        std::move(missing),
        NeedsShell(name)
            ? fmt::format("the quotes make it one word; a shell takes it "
                          "apart: sonde run -- sh -c {}",
                          ShellWord(name))
            : fmt::format("the quotes make it one word; without them: sonde "
                          "run -- {}",
                          shown));
  if (name.find('/') != std::string::npos) {
    Error out = ErrnoError(shown, ENOENT);
    if (exists)
      out.hint =
          "the file is there; the interpreter its first line names is not";
    return out;
  }
  if (exists)
    return because(std::move(missing),
                   fmt::format("it is a file here: sonde run -- {}{}",
                               IsPython(name) ? "python3 " : "./", shown));
  return because(std::move(missing),
                 fmt::format("is it installed, and in $PATH? a file is named "
                             "with its directory: ./{}",
                             shown));
}

}  // namespace

Error ExecError(const std::vector<std::string>& command, int error) {
  const std::string& name = command[0];
  if (name.empty())
    return {Error::Kind::kNotFound, "the command is an empty word",
            "is a variable in it not set?"};
  if (error == ENOENT) return NotFound(command);
  const std::string shown = Printable(name);
  Error out = ErrnoError(shown, error);
  struct stat st;
  if (error != EACCES) return out;
  if (::stat(name.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
    return Directory(name);
  out.hint =
      IsPython(name)
          ? fmt::format("sonde run -- python3 {}", shown)
          : fmt::format("is it executable? `chmod +x {}` makes it so", shown);
  return out;
}

}  // namespace sonde
