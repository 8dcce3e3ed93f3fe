// What is fed to the decoder to be timed, and what is left out: the given words beside the recognised ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/align/align.h"
#include "src/transcript.h"

namespace sotto {

// A word of the given text, or a recognised one. Texts of a text's pieces one after the other are the text.
struct TextPiece {
  std::string text;       // with the space before it, and marks that stand beside it
  std::string key;        // matching_key of it; never empty
  int segment = 0;        // of its transcript, or the n-th text
  bool begins_segment = false;
  double start_s = 0, end_s = 0;  // recognised
  bool goes_on = false;           // a digit of a number that began before it: who counts or spells has a time for each
};

std::vector<TextPiece> pieces_of(const std::vector<GivenText>& given);
std::vector<TextPiece> pieces_of(const Transcript& recognised);

// In the order of the sound.
struct PlannedPiece {
  int given = -1;       // index; -1: speech without a text, which is fed, too, so that its neighbours don't take its time
  int recognised = -1;  // what it was taken for; -1: heard between its neighbours, not recognised
  double from_s = 0, until_s = 0;  // where it is: of the recognised word, or of the gap
  bool doubtful = false;           // a word that may not have been said: its probability decides
};

inline constexpr double kWindow_s = 30;  // what a decoder hears at once

// voiced_s(from, until): seconds with a voice between two times. duration_s: of the sound.
std::vector<PlannedPiece> plan_pieces(const std::vector<TextPiece>& given, const std::vector<TextPiece>& recognised,
                                      double duration_s, const std::function<double(double, double)>& voiced_s);

}  // namespace sotto
