#include "src/cli/devices_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "audio/microphone.h"

namespace sotto {

int devices_command(const std::vector<std::string>& written) {
  CLI::App app{"The microphones that 'sotto live --mic NAME' can listen to; '*': it does without a name.", "sotto devices"};
  try {
    app.parse(std::vector<std::string>(written.rbegin(), written.rend()));
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return 0;
  }
  const std::vector<InputDevice> devices = input_devices();
  if (devices.empty()) std::fprintf(stderr, "sotto: this machine has no microphone that its sound system knows\n");
  for (const InputDevice& device : devices)
    std::printf("%c %2d  %s  (%d channel%s, %.0f Hz)\n", device.is_default ? '*' : ' ', device.number, device.name.c_str(),
                device.channels, device.channels == 1 ? "" : "s", device.rate);
  return 0;
}

}  // namespace sotto
