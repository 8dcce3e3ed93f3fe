#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "live_network.h"

namespace sotto {
namespace {

// Of this process, as it is in memory now.
double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

TEST_CASE("full: an hour of speech takes no more memory and no longer than some minutes of it, and loses no word") {
  LiveScene scene;
  scene.output.forgets = true;
  double at_s = 1;
  for (int i = 0; at_s < 3590; ++i) {  // utterances of 2 to 40 s
    const int n = 5 + i * 37 % 95;
    scene.speak(at_s, n);
    at_s += n * 0.4 + 0.2 + i * 13 % 30 * 0.1;
  }
  const auto delay_s = [&](double from_s, double to_s) {
    scene.hear_until(from_s);
    const double before_s = scene.output.delay_s;
    const int n_before = scene.output.n_words;
    scene.hear_until(to_s);
    return (scene.output.delay_s - before_s) / (scene.output.n_words - n_before);
  };
  const double first_delay_s = delay_s(0, 600);
  const double before_mb = resident_mb();
  const auto passes_before = scene.captioner().n_passes();
  scene.hear_until(1200);
  const auto passes_of_ten_minutes = scene.captioner().n_passes() - passes_before;
  const double last_delay_s = delay_s(3000, 3600);
  CHECK(last_delay_s > first_delay_s * 0.9);
  CHECK(last_delay_s < first_delay_s * 1.1);
  CHECK(resident_mb() < before_mb + 10);
  const auto per_ten_minutes = (scene.captioner().n_passes() - passes_before - passes_of_ten_minutes) / 4.0;
  CHECK(per_ten_minutes < passes_of_ten_minutes * 1.1);
  scene.captioner().finish();
  CHECK(scene.output.committed == scene.text());
}

}  // namespace
}  // namespace sotto
