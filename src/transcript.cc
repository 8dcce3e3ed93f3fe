#include "src/transcript.h"

#include "models/utf8.h"

namespace sotto {

std::string Transcript::text() const {
  std::string all;
  for (const Segment& segment : segments) all += segment.text;
  return std::string(strip(all));
}

}  // namespace sotto
