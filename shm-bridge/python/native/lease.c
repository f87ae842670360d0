#include "lease.h"

#include <pthread.h>

unsigned long bwpy_forks = 0;

static void bwpy_forked(void) { bwpy_forks++; }

int bwpy_watch_forks(void) {
  static bool watching = false;
  if (watching) {
    return 0;
  }
  const int error = pthread_atfork(NULL, NULL, bwpy_forked);
  watching = error == 0;
  return error;
}
