// When messages arrive that share the links of a SimGrid platform: `simgrid_links PLATFORM.xml MESSAGES`, a message per line
// (`begins_s from to bytes`); prints the moment of arrival of each, in the order of the file.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

struct Message {
  double begins;
  int from, to;
  double bytes;
};

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  if (argc != 3)
    return 2;
  engine.load_platform(argv[1]);
  std::ifstream file(argv[2]);
  std::vector<Message> messages;
  for (Message message; file >> message.begins >> message.from >> message.to >> message.bytes;)
    messages.push_back(message);
  std::vector<double> arrivals(messages.size());
  const auto host = [](int node) { return sg::Host::by_name("node-" + std::to_string(node)); };
  for (size_t index = 0; index < messages.size(); index++) {
    const Message message = messages[index];
    auto* box = sg::Mailbox::by_name(std::to_string(index));
    sg::Actor::create("to", host(message.to), [box, index, &arrivals] {
      box->get<char>();
      arrivals[index] = sg::Engine::get_clock();
    });
    sg::Actor::create("from", host(message.from), [box, message] {
      static char content;
      sg::this_actor::sleep_until(message.begins);
      box->put(&content, static_cast<uint64_t>(message.bytes));
    });
  }
  engine.run();
  for (const double arrival : arrivals)
    std::printf("%.9f\n", arrival);
}
