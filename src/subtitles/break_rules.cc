#include "src/subtitles/break_rules.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "models/utf8.h"

namespace sotto {
namespace {

// Costs of a break between two words, in units of a break between any two.
constexpr float kBehindSentence = 0, kBehindClause = 0.25f, kBeforeConjunction = 0.5f, kBeforePreposition = 0.65f,
                kAny = 1, kInsideWord = 1.5f, kBehindModifier = 2, kBehindPreposition = 3, kInsideName = 4,
                kBehindBinder = 5;
constexpr float kLonelyStart = 1, kLonelyEnd = 0.5f;
constexpr int64_t kSentencePauseMs = 300;  // behind a number with a point: that ends a sentence

// Where "19." is the nineteenth.
constexpr std::string_view kOrdinalLanguages[] = {"bs", "cs", "da", "de", "et", "eu", "fi", "fo", "hr", "hu", "is", "lb",
                                                  "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr", "tr"};
constexpr size_t kMostOrdinalDigits = 3;  // "1990." is a year

constexpr std::u32string_view kSentenceEnds = U".!?…。！？｡؟۔।॥։።፧";
constexpr std::u32string_view kClauseEnds = U",;:،؛、，；：—–";
constexpr std::u32string_view kOpening = U"\"'“‘«‹„‚¿¡([{（「『【〈《〔［｛";
constexpr std::u32string_view kClosing = U"\"'”’»›)]}）」』】〉》〕］｝";
constexpr std::u32string_view kClosingElsewhere = U"“‘«‹";  // „so“, ‚so‘, »so«, ›so‹
// What no line of Chinese, Japanese or Thai begins with, nor any other (Japanese Industrial Standard X 4051).
constexpr std::u32string_view kNeverFirst =
    U".,!?:;)]}%°”’»…。、，．！？；：）」』】〉》〕］｝・ー々ゝゞヽヾ"
    U"ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶะาำๅๆฯ";
constexpr std::u32string_view kNeverLast = U"([{“‘«¿¡（「『【〈《〔［｛$£€¥＄￥№#เแโใไ";
constexpr std::u32string_view kParticles = U"はがをにでともへのねよ";  // Japanese: what a phrase ends with
constexpr std::u32string_view kChineseParticles = U"的了吗嗎呢吧啊着著过過地得";

bool is_in(char32_t code, std::u32string_view list) { return list.find(code) != std::u32string_view::npos; }

enum class Kind { other, digit, lower, upper, han, hiragana, katakana, thai };

Kind kind_of(char32_t code) {
  if (code >= U'0' && code <= U'9') return Kind::digit;
  if (code < 0x80) return code >= 'a' && code <= 'z' ? Kind::lower : code >= 'A' && code <= 'Z' ? Kind::upper : Kind::other;
  if (code >= 0x3040 && code < 0x30A0) return Kind::hiragana;
  if (code >= 0x30A0 && code < 0x3100) return Kind::katakana;
  if ((code >= 0x3400 && code < 0xA000) || (code >= 0x20000 && code < 0x40000) || code == 0x3005) return Kind::han;
  if ((code >= 0x0E00 && code < 0x0F00) || (code >= 0x1000 && code < 0x10A0) || (code >= 0x1780 && code < 0x1800))
    return Kind::thai;
  const auto category = utf8proc_category(static_cast<int32_t>(code));
  return category == UTF8PROC_CATEGORY_LU ? Kind::upper : category == UTF8PROC_CATEGORY_LL ? Kind::lower : Kind::other;
}

bool without_spaces(Kind kind) {
  return kind == Kind::han || kind == Kind::hiragana || kind == Kind::katakana || kind == Kind::thai;
}

bool is_word_character(char32_t code) {
  return code < 0x80 ? std::isalnum(static_cast<int>(code)) != 0
                     : utf8proc_category(static_cast<int32_t>(code)) <= UTF8PROC_CATEGORY_NO;  // letters, marks, numbers
}

void append(std::string& text, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

bool is_numeral(std::u32string_view codes) {
  if (codes.find_first_not_of(U"IVXLCDM") == std::u32string_view::npos) return true;
  const size_t before_last = codes.find_last_not_of(U"0123456789");
  const size_t n_digits = before_last == std::u32string_view::npos ? codes.size() : codes.size() - before_last - 1;
  return codes.find_first_not_of(U"0123456789./-–") == std::u32string_view::npos && n_digits <= kMostOrdinalDigits;
}

// What the rules see of a word.
struct Look {
  char32_t first = 0, last = 0;               // characters
  Kind first_kind = Kind::other;              // of the first letter or digit
  bool has_letters = false, has_digits_last = false, initial = false;  // "J."
  bool ends_sentence = false, ends_clause = false;
  bool begins_anew = false;  // English: what has a capital in the middle of a sentence only if a title ended before it
  bool numeral = false;  // and a point, nothing behind it: "19.", "3.10.", "XIV."
  BreakWord word = BreakWord::none;
};

Look look_at(std::string_view text, std::string_view language, std::u32string& codes, std::string& bare) {
  codes.clear();
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = first_character(rest);
    codes += character.code;
    rest.remove_prefix(character.length);
  }
  Look look;
  look.first = codes.front();
  look.last = codes.back();
  size_t begin = 0, end = codes.size();
  while (begin < end && !is_word_character(codes[begin])) ++begin;
  while (end > begin && !is_word_character(codes[end - 1])) --end;
  look.has_letters = begin < end;
  const size_t marks = look.has_letters ? end : 0;  // a mark may stand alone: "Vraiment ?"
  size_t mark = codes.size();  // behind the last one that isn't a closing quote or bracket
  while (mark > marks && (is_in(codes[mark - 1], kClosing) || is_in(codes[mark - 1], kClosingElsewhere))) --mark;
  const bool point = mark > marks && codes[mark - 1] == U'.';
  look.ends_sentence = mark > marks && is_in(codes[mark - 1], kSentenceEnds);
  look.ends_clause = mark > 0 && is_in(codes[mark - 1], kClauseEnds);
  if (!look.has_letters) return look;

  look.first_kind = kind_of(codes[begin]);
  look.has_digits_last = kind_of(codes[end - 1]) == Kind::digit;
  const auto inner = std::u32string_view(codes).substr(begin, end - begin);
  look.numeral = point && end + 1 == codes.size() && is_numeral(inner);
  look.initial = point && end == begin + 1 && look.first_kind == Kind::upper;
  bare.clear();
  for (size_t i = begin; i < end; ++i) {
    const char32_t code = codes[i] == U'’' ? U'\'' : codes[i];
    if (code < 0x80) bare += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
    else append(bare, utf8proc_tolower(static_cast<int32_t>(code)));
  }
  if (end < codes.size() && codes[end] == U'.') {  // titles: "Mr."
    look.word = break_word(language, bare + '.');
    if (look.word == BreakWord::title) look.ends_sentence = look.ends_sentence && !point;
  }
  if (look.word == BreakWord::none) look.word = break_word(language, bare);
  const bool binds = look.word == BreakWord::binder || look.word == BreakWord::pronoun;
  look.begins_anew = look.first_kind == Kind::upper && binds && bare != "i" && !bare.starts_with("i'");
  return look;
}

// Between characters that are written without spaces: behind particles, at the edges of kana and Han characters.
float cost_without_space(const Look& before, const Look& next, Kind last_kind, std::string_view language) {
  if (is_in(next.first, kNeverFirst) || is_in(before.last, kNeverLast) || is_in(next.first, kClosing)) return kNoBreak;
  if (before.ends_sentence) return kBehindSentence;
  if (before.ends_clause) return kBehindClause;
  const Kind next_kind = next.first_kind;
  if (!without_spaces(next_kind) && !without_spaces(last_kind) && !is_in(next.first, kOpening)) return kNoBreak;
  if (language == "ja") {
    if (is_in(before.last, kParticles) && next_kind != Kind::hiragana) return kBeforeConjunction;
    if (last_kind == Kind::hiragana && next_kind != Kind::hiragana) return kAny;
    if (last_kind == next_kind && last_kind != Kind::hiragana) return kBehindBinder;
    return kBehindPreposition;
  }
  if (is_in(before.last, kChineseParticles)) return kBeforePreposition;
  if (last_kind == Kind::digit || next_kind == Kind::digit) return kBehindPreposition;
  return kInsideWord;
}

bool may_be_name(const Look& look, bool begins_sentence) {
  return look.first_kind == Kind::upper && !(begins_sentence && look.word != BreakWord::none);
}

// A noun, a verb, or what describes one.
bool is_content(const Look& look) { return look.word == BreakWord::none || look.word == BreakWord::modifier; }

float cost_at_space(const Look& before, const Look& next, bool before_begins_sentence, std::string_view language) {
  const bool dash = next.first == U'-' || next.first == U'–' || next.first == U'—';
  if (!next.has_letters && !is_in(next.first, kOpening) && !dash && !is_in(next.first, U"♪&+=")) return kNoBreak;
  if (!before.has_letters && !before.ends_sentence && !before.ends_clause && is_in(before.last, U"-«“\"([¿¡"))
    return kNoBreak;
  if (before.ends_sentence) return kBehindSentence;
  if (before.ends_clause) return kBehindClause;
  if (before.word == BreakWord::binder || before.word == BreakWord::title) return kBehindBinder;
  if (!is_content(before)) return kBehindPreposition;
  if (before.numeral && is_content(next)) return kBehindBinder;
  if (before.has_digits_last && next.first_kind == Kind::lower && is_content(next)) return kBehindPreposition;
  if (before.word == BreakWord::modifier && is_content(next)) return kBehindModifier;
  if (language == "en" && next.begins_anew) return kBeforeConjunction;
  if (before.initial || (language != "de" && may_be_name(before, before_begins_sentence) && may_be_name(next, false)))
    return kInsideName;
  if (next.word == BreakWord::conjunction) return kBeforeConjunction;
  if (next.word == BreakWord::preposition) return kBeforePreposition;
  return without_spaces(next.first_kind) ? kBeforeConjunction : kAny;
}

// Whether a numeral with a point goes on with what it counts: "das 19. Jahrhundert", "am 3. 10.", "II. József". What doesn't
// are words that begin sentences, and what comes after a pause or that the model parted.
bool is_ordinal(const Look& look, const Look& next, const Unit& unit, const Unit& next_unit, std::string_view language) {
  return look.numeral && next.has_letters && std::ranges::count(kOrdinalLanguages, language) > 0 &&
         (next.first_kind == Kind::lower ||
          (next.word == BreakWord::none && unit.segment == next_unit.segment &&
           next_unit.word.start_ms - unit.word.end_ms < kSentencePauseMs));
}

}  // namespace

void set_break_costs(std::span<Unit> units, std::string_view language) {
  std::u32string codes;
  std::string bare;
  Look before;
  bool before_begins = true;
  for (size_t i = 0; i < units.size(); ++i) {
    Unit& unit = units[i];
    Look look = look_at(unit.word.text, language, codes, bare);
    if (look.word == BreakWord::pronoun)
      look.word = before.word == BreakWord::preposition ? BreakWord::none : BreakWord::binder;
    // "U.S. troops": what goes on in small letters is no new sentence
    if (look.first_kind == Kind::lower && before.last == U'.') before.ends_sentence = false;
    before.numeral = i > 0 && is_ordinal(before, look, units[i - 1], unit, language);
    if (before.initial || before.numeral) before.ends_sentence = false;
    const Kind last_kind = kind_of(before.last);
    unit.begins_sentence = i == 0 || (before.ends_sentence && look.has_letters) || units[i - 1].speaker != unit.speaker;
    if (i == 0 || units[i - 1].speaker != unit.speaker)
      unit.break_cost = 0;
    else if (unit.space)
      unit.break_cost = cost_at_space(before, look, before_begins, language);
    else
      unit.break_cost = cost_without_space(before, look, last_kind, language);
    // No word stands alone at a line's end or start that begins or ends a sentence.
    if (unit.break_cost > kBehindClause && unit.break_cost < kNoBreak)
      unit.break_cost += (before_begins ? kLonelyStart : 0) + (look.ends_sentence ? kLonelyEnd : 0);
    before_begins = unit.begins_sentence;
    before = look;
  }
}

}  // namespace sotto
