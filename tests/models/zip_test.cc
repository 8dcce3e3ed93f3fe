#include "models/zip.h"

#include <doctest/doctest.h>

#include "models/error.h"

namespace sotto {
namespace {

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A file over 4 GiB has its sizes and offsets in 64-bit records; they may stand in a small file as well.
std::string zip64(const std::string& name, const std::string& data, uint16_t method) {
  const auto name_size = static_cast<uint16_t>(name.size());
  std::string out;
  put<uint32_t>(out, 0x04034b50);
  out.append(22, '\0');
  put<uint16_t>(out, name_size);
  put<uint16_t>(out, 0);
  out += name + data;
  const uint64_t directory = out.size();
  put<uint32_t>(out, 0x02014b50);
  out.append(6, '\0');
  put<uint16_t>(out, method);
  out.append(8, '\0');
  put<uint32_t>(out, 0xffffffff);
  put<uint32_t>(out, 0xffffffff);
  put<uint16_t>(out, name_size);
  put<uint16_t>(out, 28);  // of the extra field
  out.append(10, '\0');
  put<uint32_t>(out, 0xffffffff);
  out += name;
  put<uint16_t>(out, 1);
  put<uint16_t>(out, 24);
  put<uint64_t>(out, data.size());
  put<uint64_t>(out, data.size());
  put<uint64_t>(out, 0);
  const uint64_t end64 = out.size();
  put<uint32_t>(out, 0x06064b50);
  put<uint64_t>(out, 44);
  out.append(20, '\0');
  put<uint64_t>(out, 1);
  put<uint64_t>(out, end64 - directory);
  put<uint64_t>(out, directory);
  put<uint32_t>(out, 0x07064b50);
  put<uint32_t>(out, 0);
  put<uint64_t>(out, end64);
  put<uint32_t>(out, 1);
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, 0xffff);
  put<uint16_t>(out, 0xffff);
  put<uint32_t>(out, 0xffffffff);
  put<uint32_t>(out, 0xffffffff);
  put<uint16_t>(out, 0);
  return out;
}

TEST_CASE("a zip with 64-bit sizes and offsets") {
  const std::string file = zip64("archive/data/0", "values", 0);
  const Zip zip("x.pt", std::as_bytes(std::span(file)));
  const auto entry = zip.find("data/0");
  REQUIRE(entry);
  CHECK(std::string(reinterpret_cast<const char*>(entry->data()), entry->size()) == "values");
  CHECK(!zip.find("data/1"));
}

TEST_CASE("a compressed entry is refused") {
  const std::string file = zip64("archive/data/0", "values", 8);
  CHECK_THROWS_WITH_AS(Zip("x.pt", std::as_bytes(std::span(file))), doctest::Contains("is compressed"), Error);
}

}  // namespace
}  // namespace sotto
