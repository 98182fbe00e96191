#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace scratchy::cli {
namespace {

std::atomic<bool>& flag() {
  static std::atomic<bool> set{false};
  return set;
}

void on_interrupt(int) {
  if (flag().exchange(true)) ::_exit(130);
}

}  // namespace

std::atomic<bool>& interrupted() {
  static const bool installed = [] {
    flag();
    struct sigaction action {};
    action.sa_handler = on_interrupt;  // without SA_RESTART: a read at the prompt returns
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGINT, &action, nullptr) == 0;
  }();
  static_cast<void>(installed);
  return flag();
}

}  // namespace scratchy::cli
