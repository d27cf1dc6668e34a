#include "collect/ring/wire_names.h"

namespace sonde {
namespace {

// Definitions end where the blocks begin, so an id is a small number.
constexpr uint32_t kMostIds = kNamesEnd / 8;

}  // namespace

WireNames::Label WireNames::Resolve(uint32_t id) {
  if (id == 0 || id >= kMostIds) return {};
  Label label;
  const auto found = look_(id);
  if (found && found->kind == NameKind::kText) {
    label.name = out_.Intern(found->cut ? found->text + " ..." : found->text);
  } else if (found && found->kind == NameKind::kLabel) {
    // A label is made of texts, not of labels.
    const auto text = [&](uint32_t part) {
      const auto name = look_(part);
      return name && name->kind == NameKind::kText ? Find(part).name : 0;
    };
    label = {text(found->name), text(found->category), found->color};
  }
  if (labels_.size() <= id) labels_.resize(id + 1);
  labels_[id] = {label, true};
  return label;
}

const RingName* WireNames::Thing(uint32_t id, NameKind kind) {
  auto at = things_.find(id);
  if (at == things_.end()) {
    auto found = look_(id);
    if (!found || found->kind != kind) return nullptr;
    at = things_.emplace(id, std::move(*found)).first;
  }
  return at->second.kind == kind ? &at->second : nullptr;
}

}  // namespace sonde
