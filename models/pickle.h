// Reads the pickle of a PyTorch state dict as data. Pickle is a language for building any object by calling any
// function; this interprets only what a state dict needs - containers, texts, numbers, and tensors as descriptions -
// and calls nothing. Everything else is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto {

struct PickledTensor {
  std::string_view storage_type;  // "HalfStorage"
  std::string_view storage_key;   // the entry data/<key> of the zip holds its values
  int64_t offset;                 // of its first value in the storage, in values
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in values
};

class Pickle {
 public:
  enum class Kind : uint8_t { none, boolean, integer, text, tuple, list, dict, global, storage, tensor };

  struct Value {
    Kind kind = Kind::none;
    int64_t number = 0;          // boolean, integer
    std::string_view text;       // text; the name of a global: "torch HalfStorage"
    std::vector<uint32_t> items;  // what tuples and lists hold; keys and values by turns in a dict; the type and key of
                                  // a storage; the arguments of a tensor
  };

  // Interprets the bytes, into which texts are views. path: for messages.
  Pickle(const std::string& path, std::span<const std::byte> bytes);

  const Value& root() const { return values_[root_]; }
  const Value* find(const Value& dict, std::string_view key) const;  // null if there is none, or dict isn't one
  std::vector<std::pair<std::string_view, PickledTensor>> tensors(const Value& dict) const;  // leaves out other values

 private:
  class Machine;
  PickledTensor describe(const Value& tensor) const;

  std::vector<Value> values_;
  uint32_t root_ = 0;
};

}  // namespace sotto
