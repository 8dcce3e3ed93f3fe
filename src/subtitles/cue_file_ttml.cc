// TTML, and what is made of it: IMSC, EBU-TT, DFXP. The document stays as it is but for times and new paragraphs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <pugixml.hpp>
#include <sstream>

#include "models/error.h"
#include "models/utf8.h"
#include "src/subtitles/cue_formats.h"

namespace sotto {
namespace {

constexpr unsigned kKeepAll = pugi::parse_full | pugi::parse_ws_pcdata;

std::string_view local_name(std::string_view name) { return name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1); }

pugi::xml_attribute attribute(const pugi::xml_node& node, std::string_view name) {
  for (const pugi::xml_attribute& one : node.attributes())
    if (local_name(one.name()) == name) return one;
  return {};
}

bool has_times(const pugi::xml_node& node) { return attribute(node, "begin") || attribute(node, "end"); }

// What the times of a document count in.
struct Rates {
  double frames = 30, ticks = 1;

  explicit Rates(const pugi::xml_node& root) {
    if (const auto rate = attribute(root, "frameRate")) frames = std::max(1.0, rate.as_double(30));
    double up = 1, down = 1;
    if (std::istringstream(attribute(root, "frameRateMultiplier").value()) >> up >> down && down > 0) frames *= up / down;
    if (const auto rate = attribute(root, "tickRate")) ticks = std::max(1.0, rate.as_double(1));
  }
};

// "01:02:03.5", "01:02:03:12" (frames), "90.5s", "1500ms", "24f", "4000t".
std::optional<int64_t> ttml_time_ms(std::string_view text, const Rates& rates) {
  const std::string written(strip(text));
  int hours = 0, minutes = 0, used = 0;
  double seconds = 0, frames = 0;
  if (std::sscanf(written.c_str(), "%d:%d:%lf%n", &hours, &minutes, &seconds, &used) == 3 && used > 0) {
    const std::string rest = written.substr(static_cast<size_t>(used));
    int all = 0;
    if (!rest.empty() && (std::sscanf(rest.c_str(), ":%lf%n", &frames, &all) != 1 || all != static_cast<int>(rest.size())))
      return std::nullopt;
    return std::llrint(((hours * 60.0 + minutes) * 60 + seconds + frames / rates.frames) * 1000);
  }
  char* end = nullptr;
  const double number = std::strtod(written.c_str(), &end);
  const std::string unit = end;
  if (end == written.c_str() || !(number >= 0 && number < 1e13)) return std::nullopt;
  for (const auto& [name, ms] : {std::pair("h", 3.6e6), {"m", 6e4}, {"s", 1e3}, {"ms", 1.0}, {"f", 1000 / rates.frames},
                                 {"t", 1000 / rates.ticks}})
    if (unit == name) return std::llrint(number * ms);
  return std::nullopt;
}

// Of begin and end, which count from where the element around it begins.
struct Times {
  int64_t start_ms, end_ms;
};

std::optional<int64_t> begin_of(const pugi::xml_node& node, const Rates& rates) {
  const auto begin = attribute(node, "begin");
  return begin ? ttml_time_ms(begin.value(), rates) : std::optional<int64_t>(0);
}

std::optional<Times> times_of(const pugi::xml_node& p, const Rates& rates) {
  int64_t base_ms = 0;
  for (pugi::xml_node node = p.parent(); node; node = node.parent()) {
    const auto begin_ms = begin_of(node, rates);
    if (!begin_ms) return std::nullopt;
    base_ms += *begin_ms;
  }
  const auto begin_ms = begin_of(p, rates);
  const auto end = attribute(p, "end"), length = attribute(p, "dur");
  const auto end_ms = ttml_time_ms((end ? end : length).value(), rates);
  if (!begin_ms || !end_ms) return std::nullopt;
  return Times{base_ms + *begin_ms, base_ms + *end_ms + (end ? 0 : *begin_ms)};
}

void add_text(const pugi::xml_node& node, std::vector<std::string>& lines) {
  for (const pugi::xml_node& child : node.children()) {
    const std::string_view name = local_name(child.name());
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
      for (const char c : std::string_view(child.value())) {
        const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!space) lines.back() += c;
        else if (!lines.back().empty() && lines.back().back() != ' ') lines.back() += ' ';
      }
    } else if (name == "br") {
      lines.emplace_back();
    } else if (name == "span") {
      add_text(child, lines);
    }
  }
}

std::vector<std::string> text_of(const pugi::xml_node& p) {
  std::vector<std::string> lines(1);
  add_text(p, lines);
  for (std::string& line : lines) line = strip(line);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

struct Document : pugi::xml_document {
  std::vector<pugi::xml_node> paragraphs;

  explicit Document(const std::string& content) {
    const pugi::xml_parse_result result = load_buffer(content.data(), content.size(), kKeepAll, pugi::encoding_utf8);
    if (!result)
      throw Error("line " + std::to_string(line_of(content, result.offset)) + ": the XML can't be read: " +
                  result.description());
    collect(*this);
  }

  static int line_of(const std::string& content, std::ptrdiff_t offset) {
    return 1 + static_cast<int>(std::count(content.begin(), content.begin() + std::max<std::ptrdiff_t>(offset, 0), '\n'));
  }

 private:
  void collect(const pugi::xml_node& node) {
    for (const pugi::xml_node& child : node.children()) {
      if (local_name(child.name()) == "p") paragraphs.push_back(child);
      else collect(child);
    }
  }
};

// In seconds where it was, else by the clock, which every reader takes.
void set_time(pugi::xml_node node, const char* name, int64_t ms) {
  pugi::xml_attribute time = attribute(node, name);
  const std::string_view written = time.value();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3fs", static_cast<double>(ms) / 1000);
  const bool in_seconds = written.ends_with('s') && !written.ends_with("ms");
  (time ? time : node.append_attribute(name)).set_value(in_seconds ? seconds : file_clock(ms, 2, '.').c_str());
}

// Of spans, whose times count from where the element around them begins: there before and now.
void move_inner(pugi::xml_node node, int64_t was_ms, int64_t now_ms, const Rates& rates, const MovedTime& moved) {
  for (const pugi::xml_node& child : node.children()) {
    int64_t child_was_ms = was_ms, child_now_ms = now_ms;
    for (const char* name : {"begin", "end"})
      if (const auto written = attribute(child, name))
        if (const auto ms = ttml_time_ms(written.value(), rates)) {
          const int64_t then_ms = std::max(now_ms, moved(was_ms + *ms));
          if (*name == 'b') child_was_ms = was_ms + *ms, child_now_ms = then_ms;
          set_time(child, name, then_ms - now_ms);
        }
    move_inner(child, child_was_ms, child_now_ms, rates, moved);
  }
}

void set_text(pugi::xml_node p, const std::vector<std::string>& lines) {
  pugi::xml_node holder = p;
  const pugi::xml_node span = p.find_child([](const pugi::xml_node& child) { return local_name(child.name()) == "span"; });
  const std::string prefix(p.name(), std::string_view(p.name()).size() - 1);
  pugi::xml_document kept;
  if (span) kept.append_copy(span);
  p.remove_children();
  if (span) {
    holder = p.append_copy(kept.first_child());
    holder.remove_children();
    for (const char* name : {"begin", "end", "dur"}) holder.remove_attribute(name);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) holder.append_child((prefix + "br").c_str());
    holder.append_child(pugi::node_pcdata).set_value(lines[i].c_str());
  }
}

}  // namespace

CueFile parse_ttml(std::string_view content) {
  CueFile file;
  file.format = CueFormat::ttml;
  file.source = content;
  const Document document(file.source);
  const Rates rates(document.document_element());
  for (size_t i = 0; i < document.paragraphs.size(); ++i) {
    const pugi::xml_node& p = document.paragraphs[i];
    std::vector<std::string> text = text_of(p);
    const int line = Document::line_of(file.source, p.offset_debug());
    const auto times = times_of(p, rates);
    if (times)
      file.cues.push_back({.line = line, .start_ms = times->start_ms, .end_ms = times->end_ms, .text = std::move(text),
                           .element = static_cast<int>(i)});
    else if (has_times(p) || !text.empty())
      file.bad_lines.push_back({line, has_times(p) ? "the times can't be read" : "a paragraph without times"});
  }
  return file;
}

std::string write_ttml(const CueFile& file, const MovedTime& moved) {
  const Document document(file.source);
  const Rates rates(document.document_element());
  std::vector<std::optional<Times>> were;
  for (const pugi::xml_node& p : document.paragraphs) were.push_back(times_of(p, rates));
  std::vector<char> used(document.paragraphs.size());
  pugi::xml_node last;  // the paragraph before
  for (const FileCue& cue : file.cues) {
    const auto index = static_cast<size_t>(cue.element);
    pugi::xml_node p = document.paragraphs[index];
    if (cue.is_new) {
      pugi::xml_node copy = last ? last.parent().insert_copy_after(p, last) : p.parent().insert_copy_before(p, p);
      set_text(copy, cue.text);
      p = copy;
    } else {
      used[index] = true;
      if (moved && were[index]) move_inner(p, were[index]->start_ms, cue.start_ms, rates, moved);
    }
    p.remove_attribute("dur");
    set_time(p, "begin", cue.start_ms);
    set_time(p, "end", cue.end_ms);
    last = p;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    pugi::xml_node p = document.paragraphs[i];
    for (pugi::xml_node around = p.parent(); around && around.type() == pugi::node_element; around = around.parent())
      for (const char* name : {"begin", "end", "dur"}) around.remove_attribute(name);
    if (were[i] && !used[i]) p.parent().remove_child(p);
  }
  const pugi::xml_node root = document.document_element();  // what stands before it isn't kept to the letter
  std::ostringstream out;
  out << file.source.substr(0, file.source.rfind('<', static_cast<size_t>(root.offset_debug())));
  root.print(out, "", pugi::format_raw, pugi::encoding_utf8);
  out << '\n';
  return out.str();
}

}  // namespace sotto
