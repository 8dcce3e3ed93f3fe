#include "models/tokenizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "models/error.h"
#include "models/languages.h"
#include "models/utf8.h"

// From vocabulary/embed.S: length byte and bytes of each text token, in the order of ids.
extern "C" const char sotto_english_vocabulary[], sotto_english_vocabulary_end[];
extern "C" const char sotto_multilingual_vocabulary[], sotto_multilingual_vocabulary_end[];

namespace sotto {
namespace {

// The classes of characters that the pattern of GPT-2 tells apart.
enum class Kind { letter, number, space, other };

Kind kind_of(char32_t code) {
  if (code < 0x80) {  // most of what is encoded
    if ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') return Kind::letter;
    if (code >= '0' && code <= '9') return Kind::number;
  }
  if (is_white_space(code)) return Kind::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Kind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Kind::number;
    default:
      return Kind::other;
  }
}

// Bytes of the run of characters of one kind at the start of a text. A part that is no UTF-8 counts as other.
std::size_t run_length(std::string_view text, Kind kind) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character character = first_character(text.substr(length));
    if (kind_of(character.code) != kind) break;
    length += character.length;
  }
  return length;
}

// Bytes of the piece at the start of a text in which pairs may merge: the first alternative that matches of GPT-2's
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// (OpenAI, "Language Models are Unsupervised Multitask Learners", 2019, and the code that came with it).
std::size_t piece_length(std::string_view text) {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const std::size_t blank = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Kind kind = kind_of(first_character(text.substr(blank)).code);
  if (kind != Kind::space) return blank + run_length(text.substr(blank), kind);

  // White space leaves its last character to what follows, unless it has only one or nothing follows.
  const std::size_t length = run_length(text, Kind::space);
  if (length == text.size()) return length;
  std::size_t last = 0;
  for (std::size_t i = 0; i < length; i += first_character(text.substr(i)).length) last = i;
  return last > 0 ? last : length;
}

}  // namespace

struct Tokenizer::Vocabulary {
  std::vector<std::string_view> bytes;  // of each text token

  Vocabulary(const char* at, const char* end) {
    bytes.reserve(special_tokens(51865).eot);
    while (at < end) {
      const std::size_t length = static_cast<unsigned char>(*at);
      bytes.emplace_back(at + 1, length);
      at += 1 + length;
    }
    CHECK_INVARIANT(at == end);
  }

  int find(std::string_view text) const {  // -1: no token has these bytes
    std::call_once(ids_made_, [this] {
      ids_.reserve(bytes.size());
      for (std::size_t id = 0; id < bytes.size(); ++id) ids_.emplace(bytes[id], static_cast<int>(id));
    });
    const auto found = ids_.find(text);
    return found == ids_.end() ? -1 : found->second;
  }

  void encode_piece(std::string_view piece, std::vector<int>& tokens) const;

 private:
  mutable std::once_flag ids_made_;  // by the first encode: a program that only decodes doesn't wait for it
  mutable std::unordered_map<std::string_view, int> ids_;
};

// Starts with single bytes and merges neighbours, always the pair whose token has the lowest id, the leftmost if there
// are several, until no two neighbours form a token. In n log n steps: pairs wait in a heap, stale ones are dropped.
void Tokenizer::Vocabulary::encode_piece(std::string_view piece, std::vector<int>& tokens) const {
  if (const int whole = find(piece); whole >= 0) {
    tokens.push_back(whole);
    return;
  }
  struct Pair {
    int token;           // that the two would become
    std::size_t start;   // in bytes
    std::size_t length;  // of both: another now means stale
    bool operator>(const Pair& other) const { return std::tie(token, start) > std::tie(other.token, other.start); }
  };
  const std::size_t size = piece.size();
  std::vector<std::size_t> length(size, 1);  // of the part that starts at a byte; 0: none does
  std::vector<std::size_t> before(size, 1);  // of the part that ends where one starts
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs;
  const auto offer = [&](std::size_t start) {
    const std::size_t middle = start + length[start];
    if (middle == size) return;
    const std::size_t both = length[start] + length[middle];
    if (const int token = find(piece.substr(start, both)); token >= 0) pairs.push({token, start, both});
  };
  for (std::size_t start = 0; start < size; ++start) offer(start);
  while (!pairs.empty()) {
    const Pair pair = pairs.top();
    pairs.pop();
    const std::size_t middle = pair.start + length[pair.start], end = pair.start + pair.length;
    if (length[pair.start] == 0 || middle >= end || middle + length[middle] != end) continue;
    length[pair.start] = pair.length;
    length[middle] = 0;
    if (end < size) before[end] = pair.length;
    offer(pair.start);
    if (pair.start > 0) offer(pair.start - before[pair.start]);
  }
  for (std::size_t start = 0; start < size; start += length[start]) {
    tokens.push_back(find(piece.substr(start, length[start])));
  }
}

Tokenizer::Tokenizer(int vocabulary) : vocabulary_(vocabulary), special_(special_tokens(vocabulary)) {
  CHECK_INVARIANT(vocabulary >= 51864 && vocabulary <= 51866);
  if (vocabulary == 51864) {
    static const auto english =
        std::make_shared<const Vocabulary>(sotto_english_vocabulary, sotto_english_vocabulary_end);
    words_ = english;
  } else {
    static const auto multilingual =
        std::make_shared<const Vocabulary>(sotto_multilingual_vocabulary, sotto_multilingual_vocabulary_end);
    words_ = multilingual;
  }
  CHECK_INVARIANT(static_cast<int>(words_->bytes.size()) == special_.eot);
}

Tokenizer::~Tokenizer() = default;

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> tokens;
  while (!text.empty()) {
    const std::size_t length = piece_length(text);
    words_->encode_piece(text.substr(0, length), tokens);
    text.remove_prefix(length);
  }
  return tokens;
}

std::string_view Tokenizer::bytes(int token) const {
  CHECK_INVARIANT(token >= 0 && token < vocabulary_);
  return token < special_.eot ? words_->bytes[token] : std::string_view();
}

std::string Tokenizer::decode(const std::vector<int>& tokens) const {
  std::string text;
  for (int token : tokens) text += bytes(token);
  for (std::size_t length = std::min<std::size_t>(3, text.size()); length > 0; --length) {
    const Character last = first_character(std::string_view(text).substr(text.size() - length));
    if (last.state == Character::cut) {
      text.erase(text.size() - length);
      break;
    }
  }
  return valid_utf8(text);
}

std::vector<int> Tokenizer::non_speech_tokens() const {
  constexpr std::string_view kSymbols[] = {
      "\"",  "#",  "(",  ")",  "*",  "+",  "/",  ":",   ";",   "<",  "=",   ">",  "@",  "[",  "\\",   "]",
      "^",   "_",  "`",  "{",  "|",  "}",  "~",  "「",  "」",  "『", "』",  "<<", ">>", "<<<", ">>>", "--",
      "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[", "]]", "{{", "}}", "♪♪", "♪♪♪"};
  constexpr std::string_view kNotes[] = {"♩", "♪", "♫", "♬", "♭", "♮", "♯"};
  // A dash or an apostrophe may stand inside a word, not at its start.
  std::vector<int> suppressed = {encode(" -")[0], encode(" '")[0]};
  for (const std::string space : {"", " "}) {
    for (std::string_view symbol : kSymbols) {
      const std::vector<int> tokens = encode(space + std::string(symbol));
      if (tokens.size() == 1) suppressed.push_back(tokens[0]);
    }
    // The first token of a note may be shared with its neighbours from U+2640 to U+267F: none of them is speech.
    for (std::string_view note : kNotes) suppressed.push_back(encode(space + std::string(note))[0]);
  }
  std::sort(suppressed.begin(), suppressed.end());
  suppressed.erase(std::unique(suppressed.begin(), suppressed.end()), suppressed.end());
  return suppressed;
}

int Tokenizer::language_token(std::string_view code) const {
  if (vocabulary_ < 51865) return -1;
  const auto known = languages().first(special_.n_languages);
  const auto found = std::find_if(known.begin(), known.end(), [&](const Language& l) { return l.code == code; });
  return found == known.end() ? -1 : special_.first_language + static_cast<int>(found - known.begin());
}

}  // namespace sotto
