// Opcodes and their meaning are those of Python's pickletools; PyTorch writes protocol 2.
#include "models/pickle.h"

#include <unordered_map>

#include "models/readers.h"

namespace sotto {

class Pickle::Machine {
 public:
  Machine(const std::string& path, std::span<const std::byte> bytes, std::vector<Value>& values)
      : path_(path), at_(path, bytes), values_(values) {}

  uint32_t run() {  // the value that is left on the stack
    for (;;) {
      const auto op = at_.value<uint8_t>();
      if (op == '.') return pop();
      if (!push_constant(op) && !use_memo(op) && !build_container(op) && !build_object(op)) {
        bad_model(path_, "its pickle holds the operation " + std::to_string(op) + ", which no state dict needs");
      }
    }
  }

 private:
  static constexpr size_t kMaxRank = 8;

  [[noreturn]] void damaged() const { bad_model(path_, "its pickle is damaged; fetch it again"); }

  uint32_t make(Kind kind, int64_t number = 0, std::string_view text = {}, std::vector<uint32_t> items = {}) {
    values_.push_back({kind, number, text, std::move(items)});
    return static_cast<uint32_t>(values_.size() - 1);
  }
  void push(uint32_t value) { stack_.push_back(value); }
  uint32_t top() const {
    if (stack_.size() <= floor()) damaged();
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t value = top();
    stack_.pop_back();
    return value;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<uint32_t> pop_last(size_t n) {
    if (stack_.size() - floor() < n) damaged();
    std::vector<uint32_t> items(stack_.end() - static_cast<ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return items;
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) damaged();
    std::vector<uint32_t> items = pop_last(stack_.size() - floor());
    marks_.pop_back();
    return items;
  }
  // The container on top, to be added to.
  std::vector<uint32_t>& items_of_top(Kind kind) {
    Value& value = values_[top()];
    if (value.kind != kind) damaged();
    return value.items;
  }

  bool push_constant(uint8_t op) {
    switch (op) {
      case 0x80:  // PROTO
        if (at_.value<uint8_t>() > 2) bad_model(path_, "its pickle has a protocol that PyTorch doesn't use");
        return true;
      case 'N': push(make(Kind::none)); return true;
      case 0x88: push(make(Kind::boolean, 1)); return true;
      case 0x89: push(make(Kind::boolean, 0)); return true;
      case 'K': push(make(Kind::integer, at_.value<uint8_t>())); return true;
      case 'M': push(make(Kind::integer, at_.value<uint16_t>())); return true;
      case 'J': push(make(Kind::integer, at_.value<int32_t>())); return true;
      case 0x8a: push(make(Kind::integer, long_integer())); return true;
      case 'X': {
        const auto size = at_.value<uint32_t>();
        push(make(Kind::text, 0, at_.text(size)));
        return true;
      }
      default: return false;
    }
  }

  int64_t long_integer() {  // LONG1: its size, its bytes, the last of which has the sign
    const auto size = at_.value<uint8_t>();
    if (size > sizeof(int64_t)) damaged();
    const auto bytes = at_.take(size);
    if (size == 0) return 0;
    int64_t number = (bytes[size - 1] & std::byte{0x80}) != std::byte{0} ? -1 : 0;
    std::memcpy(&number, bytes.data(), size);
    return number;
  }

  bool use_memo(uint8_t op) {
    switch (op) {
      case 'q': memo_[at_.value<uint8_t>()] = top(); return true;
      case 'r': memo_[at_.value<uint32_t>()] = top(); return true;
      case 'h': push(recall(at_.value<uint8_t>())); return true;
      case 'j': push(recall(at_.value<uint32_t>())); return true;
      default: return false;
    }
  }
  uint32_t recall(uint32_t key) const {
    const auto found = memo_.find(key);
    if (found == memo_.end()) damaged();
    return found->second;
  }

  bool build_container(uint8_t op) {
    switch (op) {
      case '(': marks_.push_back(stack_.size()); return true;
      case '}': push(make(Kind::dict)); return true;
      case ']': push(make(Kind::list)); return true;
      case ')': push(make(Kind::tuple)); return true;
      case 0x85: case 0x86: case 0x87: push_tuple(pop_last(op - 0x84u)); return true;
      case 't': push_tuple(pop_to_mark()); return true;
      case 'a': add(Kind::list, pop_last(1)); return true;
      case 'e': add(Kind::list, pop_to_mark()); return true;
      case 's': add(Kind::dict, pop_last(2)); return true;
      case 'u': add(Kind::dict, pop_to_mark()); return true;
      default: return false;
    }
  }
  void push_tuple(std::vector<uint32_t> items) { push(make(Kind::tuple, 0, {}, std::move(items))); }
  void add(Kind kind, const std::vector<uint32_t>& added) {
    if (kind == Kind::dict && added.size() % 2 != 0) damaged();
    auto& items = items_of_top(kind);
    items.insert(items.end(), added.begin(), added.end());
  }

  bool build_object(uint8_t op) {
    switch (op) {
      case 'c': {  // GLOBAL: two lines, module and name; only named here, never looked up
        const std::string_view module_name = line(), name = line();
        const bool is_storage = module_name == "torch" && name.ends_with("Storage");
        const bool is_function = (module_name == "torch._utils" && name == "_rebuild_tensor_v2") ||
                                 (module_name == "collections" && name == "OrderedDict");
        if (!is_storage && !is_function) {
          bad_model(path_, "its pickle asks for " + std::string(module_name) + "." + std::string(name) +
                               ", which no state dict needs");
        }
        push(make(Kind::global, 0, name));
        return true;
      }
      case 'R': reduce(); return true;
      case 'b': pop(); return true;  // BUILD: the attributes of an OrderedDict, here PyTorch's _metadata
      case 'Q': load_storage(); return true;
      default: return false;
    }
  }
  std::string_view line() {
    std::string_view out = at_.text(0);
    size_t size = 0;
    while (at_.value<char>() != '\n') ++size;
    return {out.data(), size};
  }

  void reduce() {
    const uint32_t arguments = pop(), callee = pop();
    if (values_[callee].kind != Kind::global || values_[arguments].kind != Kind::tuple) damaged();
    if (values_[callee].text == "OrderedDict" && values_[arguments].items.empty()) {
      push(make(Kind::dict));
    } else if (values_[callee].text == "_rebuild_tensor_v2") {
      rebuild_tensor(values_[arguments].items);
    } else {
      damaged();
    }
  }

  // Arguments: storage, offset, shape, strides; what else follows is for training.
  void rebuild_tensor(const std::vector<uint32_t>& arguments) {
    if (arguments.size() < 4) damaged();
    const auto is = [&](size_t i, Kind kind) { return values_[arguments[i]].kind == kind; };
    if (!is(0, Kind::storage) || !is(1, Kind::integer) || !is(2, Kind::tuple) || !is(3, Kind::tuple)) damaged();
    for (size_t i = 2; i < 4; ++i) {
      const std::vector<uint32_t>& numbers = values_[arguments[i]].items;
      if (numbers.size() > kMaxRank) damaged();
      for (const uint32_t number : numbers) {
        if (values_[number].kind != Kind::integer) damaged();
      }
    }
    push(make(Kind::tensor, 0, {}, {arguments.begin(), arguments.begin() + 4}));
  }

  // A persistent id: ('storage', type, key, device, number of values).
  void load_storage() {
    const uint32_t id = pop();
    if (values_[id].kind != Kind::tuple || values_[id].items.size() != 5) damaged();
    const std::vector<uint32_t>& items = values_[id].items;
    const Value& tag = values_[items[0]];
    if (tag.kind != Kind::text || tag.text != "storage") damaged();
    if (values_[items[1]].kind != Kind::global || values_[items[2]].kind != Kind::text) damaged();
    push(make(Kind::storage, 0, {}, {items[1], items[2]}));
  }

  const std::string& path_;
  Cursor at_;
  std::vector<Value>& values_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // how high the stack was at each open mark
  std::unordered_map<uint32_t, uint32_t> memo_;
};

Pickle::Pickle(const std::string& path, std::span<const std::byte> bytes) {
  root_ = Machine(path, bytes, values_).run();
}

const Pickle::Value* Pickle::find(const Value& dict, std::string_view key) const {
  if (dict.kind != Kind::dict) return nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& candidate = values_[dict.items[i]];
    if (candidate.kind == Kind::text && candidate.text == key) return &values_[dict.items[i + 1]];
  }
  return nullptr;
}

PickledTensor Pickle::describe(const Value& tensor) const {
  const Value& storage = values_[tensor.items[0]];
  PickledTensor out;
  out.storage_type = values_[storage.items[0]].text;
  out.storage_key = values_[storage.items[1]].text;
  out.offset = values_[tensor.items[1]].number;
  for (const uint32_t item : values_[tensor.items[2]].items) out.shape.push_back(values_[item].number);
  for (const uint32_t item : values_[tensor.items[3]].items) out.strides.push_back(values_[item].number);
  return out;
}

std::vector<std::pair<std::string_view, PickledTensor>> Pickle::tensors(const Value& dict) const {
  std::vector<std::pair<std::string_view, PickledTensor>> out;
  if (dict.kind != Kind::dict) return out;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& key = values_[dict.items[i]];
    const Value& value = values_[dict.items[i + 1]];
    if (key.kind == Kind::text && value.kind == Kind::tensor) out.emplace_back(key.text, describe(value));
  }
  return out;
}

}  // namespace sotto
