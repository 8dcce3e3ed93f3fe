#include "models/languages.h"

#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "models/error.h"
#include "models/near_words.h"

namespace sotto {
namespace {

constexpr std::array<Language, 100> kLanguages = {{
    {"en", "english"},        {"zh", "chinese"},       {"de", "german"},    {"es", "spanish"},    {"ru", "russian"},
    {"ko", "korean"},         {"fr", "french"},        {"ja", "japanese"},  {"pt", "portuguese"}, {"tr", "turkish"},
    {"pl", "polish"},         {"ca", "catalan"},       {"nl", "dutch"},     {"ar", "arabic"},     {"sv", "swedish"},
    {"it", "italian"},        {"id", "indonesian"},    {"hi", "hindi"},     {"fi", "finnish"},    {"vi", "vietnamese"},
    {"he", "hebrew"},         {"uk", "ukrainian"},     {"el", "greek"},     {"ms", "malay"},      {"cs", "czech"},
    {"ro", "romanian"},       {"da", "danish"},        {"hu", "hungarian"}, {"ta", "tamil"},      {"no", "norwegian"},
    {"th", "thai"},           {"ur", "urdu"},          {"hr", "croatian"},  {"bg", "bulgarian"},  {"lt", "lithuanian"},
    {"la", "latin"},          {"mi", "maori"},         {"ml", "malayalam"}, {"cy", "welsh"},      {"sk", "slovak"},
    {"te", "telugu"},         {"fa", "persian"},       {"lv", "latvian"},   {"bn", "bengali"},    {"sr", "serbian"},
    {"az", "azerbaijani"},    {"sl", "slovenian"},     {"kn", "kannada"},   {"et", "estonian"},   {"mk", "macedonian"},
    {"br", "breton"},         {"eu", "basque"},        {"is", "icelandic"}, {"hy", "armenian"},   {"ne", "nepali"},
    {"mn", "mongolian"},      {"bs", "bosnian"},       {"kk", "kazakh"},    {"sq", "albanian"},   {"sw", "swahili"},
    {"gl", "galician"},       {"mr", "marathi"},       {"pa", "punjabi"},   {"si", "sinhala"},    {"km", "khmer"},
    {"sn", "shona"},          {"yo", "yoruba"},        {"so", "somali"},    {"af", "afrikaans"},  {"oc", "occitan"},
    {"ka", "georgian"},       {"be", "belarusian"},    {"tg", "tajik"},     {"sd", "sindhi"},     {"gu", "gujarati"},
    {"am", "amharic"},        {"yi", "yiddish"},       {"lo", "lao"},       {"uz", "uzbek"},      {"fo", "faroese"},
    {"ht", "haitian creole"}, {"ps", "pashto"},        {"tk", "turkmen"},   {"nn", "nynorsk"},    {"mt", "maltese"},
    {"sa", "sanskrit"},       {"lb", "luxembourgish"}, {"my", "myanmar"},   {"bo", "tibetan"},    {"tl", "tagalog"},
    {"mg", "malagasy"},       {"as", "assamese"},      {"tt", "tatar"},     {"haw", "hawaiian"},  {"ln", "lingala"},
    {"ha", "hausa"},          {"ba", "bashkir"},       {"jw", "javanese"},  {"su", "sundanese"},  {"yue", "cantonese"},
}};

constexpr std::array<Language, 12> kAliases = {{
    {"my", "burmese"},       {"ca", "valencian"}, {"nl", "flemish"},   {"ht", "haitian"},
    {"lb", "letzeburgesch"}, {"ps", "pushto"},    {"pa", "panjabi"},   {"ro", "moldavian"},
    {"ro", "moldovan"},      {"si", "sinhalese"}, {"es", "castilian"}, {"zh", "mandarin"},
}};

std::string capitalised(std::string_view name) {
  std::string text(name);
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 0 || text[i - 1] == ' ') text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
  return text;
}

// "German (de), Korean (ko) or Hebrew (he)", as many as are near; "" if none is.
std::string near_names(std::string_view written) {
  std::vector<std::string_view> known;
  for (const Language& language : kLanguages) known.push_back(language.name);
  for (const Language& alias : kAliases) known.push_back(alias.name);
  const auto near = near_words(written, known);
  std::string names;
  for (size_t i = 0; i < near.size(); ++i) {
    names += i == 0 ? "" : i + 1 == near.size() ? " or " : ", ";
    names += capitalised(near[i]) + " (" + std::string(language_code(near[i])) + ")";
  }
  return names;
}

}  // namespace

std::span<const Language> languages() { return kLanguages; }

std::string_view language_code(std::string_view written) {
  std::string lower(written);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Language& language : kLanguages) {
    if (lower == language.code || lower == language.name) return language.code;
  }
  for (const Language& alias : kAliases) {
    if (lower == alias.name) return alias.code;
  }
  // "de-DE", "en_US", "zh-Hant": a code and where or how it is written
  const std::string code = lower.substr(0, lower.find_first_of("-_"));
  for (const Language& language : kLanguages) {
    if (code.size() < lower.size() && code == language.code) return language.code;
  }
  const std::string near = near_names(lower);
  throw Error("there is no language \"" + std::string(written) + "\"; " +
              (near.empty() ? "give" : "did you mean " + near + "? Give") + " a name or a code such as de");
}

}  // namespace sotto
