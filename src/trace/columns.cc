#include "trace/columns.h"

#include "base/check.h"
#include "trace/frame.h"

namespace sonde {

void ColumnWriter::Add(uint8_t id, std::string_view raw) {
  Column column{id, ColumnCoding::kPlain, static_cast<uint32_t>(raw.size()),
                static_cast<uint32_t>(raw.size())};
  if (raw.size() >= 64 && memory_.WorthTrying(id)) {
    CompressTo(raw, scratch_);
    if (scratch_.size() < raw.size() - raw.size() / 8) {
      column.coding = ColumnCoding::kZstd;
      column.stored = static_cast<uint32_t>(scratch_.size());
      raw = scratch_;
    } else {
      memory_.Failed(id);
    }
  }
  data_.append(raw);
  columns_.push_back(column);
}

void ColumnWriter::AddConstant(uint8_t id, uint64_t value) {
  uint8_t buffer[kMaxVarint];
  const uint32_t size =
      static_cast<uint32_t>(PutVarint(buffer, value) - buffer);
  data_.append(reinterpret_cast<const char*>(buffer), size);
  columns_.push_back({id, ColumnCoding::kConstant, size, size});
}

void ColumnWriter::AppendTo(ByteWriter& payload) const {
  payload.Varint(columns_.size());
  for (const Column& c : columns_) {
    const uint8_t head[2] = {c.id, static_cast<uint8_t>(c.coding)};
    payload.Raw(head, 2);
    payload.Varint(c.raw);
    payload.Varint(c.stored);
  }
  payload.Raw(data_.data(), data_.size());
}

bool ColumnReader::Parse(ByteReader& reader) {
  columns_.clear();
  const uint64_t count = reader.Varint();
  if (count > 64) return false;
  std::vector<size_t> sizes;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view head = reader.Raw(2);
    const uint64_t raw = reader.Varint();
    const uint64_t stored = reader.Varint();
    if (!reader.ok() || raw > kMaxRawPayload || stored > kMaxPayload)
      return false;
    const auto coding = static_cast<ColumnCoding>(head[1]);
    if (coding > ColumnCoding::kConstant) return false;
    if (coding != ColumnCoding::kZstd && raw != stored) return false;
    columns_.push_back({static_cast<uint8_t>(head[0]),
                        coding,
                        static_cast<uint32_t>(raw),
                        {}});
    sizes.push_back(static_cast<size_t>(stored));
  }
  for (size_t i = 0; i < columns_.size(); ++i)
    columns_[i].stored = reader.Raw(sizes[i]);
  return reader.ok();
}

const ColumnReader::Column* ColumnReader::Find(uint8_t id) const {
  for (const Column& c : columns_)
    if (c.id == id) return &c;
  return nullptr;
}

bool ColumnReader::Get(uint8_t id, size_t max_raw, std::string& scratch,
                       std::string_view* raw, bool* constant) const {
  *raw = {};
  *constant = false;
  const Column* column = Find(id);
  if (!column) return true;
  if (column->raw > max_raw) return false;
  *constant = column->coding == ColumnCoding::kConstant;
  if (column->coding != ColumnCoding::kZstd) {
    *raw = column->stored;
    return true;
  }
  if (!DecompressTo(column->stored, column->raw, scratch)) return false;
  *raw = scratch;
  return true;
}

}  // namespace sonde
