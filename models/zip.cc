// The layout is PKWARE's APPNOTE 6.3: local header and data of each entry, the central directory, its end record.
#include "models/zip.h"

#include <algorithm>

#include "models/readers.h"

namespace sotto {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr size_t kDirectoryEndSize = 22;
constexpr size_t kLocator64Size = 20;
constexpr uint32_t kIn64 = 0xffffffff;  // the value stands in the 64-bit record

struct Directory {
  uint64_t n_entries, size, offset;
};

[[noreturn]] void damaged(const std::string& path) {
  bad_model(path, "it is a zip that is cut short or damaged; fetch it again");
}

uint32_t u32_at(std::span<const std::byte> bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// The end record is the last thing in the file but for a comment of up to 64 KiB.
Directory find_directory(const std::string& path, std::span<const std::byte> bytes) {
  if (bytes.size() < kDirectoryEndSize) damaged(path);
  const size_t last = bytes.size() - kDirectoryEndSize;
  const size_t first = last - std::min<size_t>(last, 0xffff);
  size_t end = last;
  while (u32_at(bytes, end) != kDirectoryEnd) {
    if (end == first) damaged(path);
    --end;
  }
  Cursor at(path, bytes, end + 10);
  const auto n_entries = at.value<uint16_t>();
  const auto size = at.value<uint32_t>();
  const auto offset = at.value<uint32_t>();
  if (end < kLocator64Size || u32_at(bytes, end - kLocator64Size) != kLocator64) return {n_entries, size, offset};

  Cursor locator(path, bytes, end - kLocator64Size + 8);
  const auto end64 = locator.value<uint64_t>();
  if (end64 > bytes.size()) damaged(path);
  Cursor record(path, bytes, end64);
  if (record.value<uint32_t>() != kDirectoryEnd64) damaged(path);
  record.take(28);
  Directory directory;
  directory.n_entries = record.value<uint64_t>();
  directory.size = record.value<uint64_t>();
  directory.offset = record.value<uint64_t>();
  return directory;
}

struct Entry {
  std::string name;
  uint64_t size, offset;  // of the data, of the local header
};

Entry read_entry(const std::string& path, Cursor& at) {
  if (at.value<uint32_t>() != kDirectoryEntry) damaged(path);
  at.take(4);
  const auto flags = at.value<uint16_t>();
  const auto method = at.value<uint16_t>();
  at.take(8);
  uint64_t compressed = at.value<uint32_t>();
  uint64_t size = at.value<uint32_t>();
  const auto name_size = at.value<uint16_t>();
  const auto extra_size = at.value<uint16_t>();
  const auto comment_size = at.value<uint16_t>();
  at.take(8);
  uint64_t offset = at.value<uint32_t>();
  Entry entry{std::string(at.text(name_size)), 0, 0};
  Cursor extra(path, at.take(extra_size));
  at.take(comment_size);
  while (extra.left() >= 4) {
    const auto id = extra.value<uint16_t>();
    const auto field_size = extra.value<uint16_t>();
    Cursor field(path, extra.take(field_size));
    if (id != 1) continue;
    for (uint64_t* value : {&size, &compressed, &offset}) {
      if (*value == kIn64) *value = field.value<uint64_t>();
    }
  }
  if (method != 0 || (flags & 1) || compressed != size) {
    bad_model(path, "its entry " + entry.name + " is compressed or encrypted, which PyTorch never does");
  }
  entry.size = size;
  entry.offset = offset;
  return entry;
}

std::span<const std::byte> data_of(const std::string& path, std::span<const std::byte> bytes, const Entry& entry) {
  if (entry.offset > bytes.size()) damaged(path);
  Cursor at(path, bytes, entry.offset);
  if (at.value<uint32_t>() != kLocalHeader) damaged(path);
  at.take(22);
  const auto name_size = at.value<uint16_t>();
  const auto extra_size = at.value<uint16_t>();
  at.take(uint64_t{name_size} + extra_size);
  return at.take(entry.size);
}

}  // namespace

Zip::Zip(const std::string& path, std::span<const std::byte> bytes) {
  const Directory directory = find_directory(path, bytes);
  if (directory.offset > bytes.size() || directory.size > bytes.size() - directory.offset) damaged(path);
  Cursor at(path, bytes.subspan(directory.offset, directory.size));
  for (uint64_t i = 0; i < directory.n_entries; ++i) {
    const Entry entry = read_entry(path, at);
    const size_t top = entry.name.find('/');
    entries_.insert_or_assign(entry.name.substr(top == std::string::npos ? 0 : top + 1), data_of(path, bytes, entry));
  }
}

std::optional<std::span<const std::byte>> Zip::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

}  // namespace sotto
