#include "collect/ring/wire_names.h"

#include "trace/sources.h"

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
    label = {TextOf(found->name), TextOf(found->category), found->color};
    if (found->cls <= SONDE_CLASS_OPERATOR)
      label.cls = static_cast<Event::Class>(found->cls);
    label.source = SourceOf(found->source);
  }
  if (labels_.size() <= id) labels_.resize(id + 1);
  labels_[id] = {label, true};
  return label;
}

// A label is made of texts, not of labels.
uint32_t WireNames::TextOf(uint32_t id) {
  const auto name = look_(id);
  return name && name->kind == NameKind::kText ? Find(id).name : 0;
}

uint32_t WireNames::SourceOf(uint32_t text) {
  const uint32_t id = TextOf(text);
  const std::string& who = out_.StringOf(id);
  return who == source::kApi || OfCollector(who) ? 0 : id;
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
