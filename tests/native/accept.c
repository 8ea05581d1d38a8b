/* This accept4() fails for every second connection. On Linux, accept4() fails if a new socket has a pending error, see
   accept(2). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
  static int (*real)(int, struct sockaddr *, socklen_t *, int);
  static int connections;
  if (!real) real = dlsym(RTLD_NEXT, "accept4");
  int connection = real(listener, address, length, flags);
  if (connection < 0 || connections++ % 2 == 0) return connection;
  close(connection);
  errno = atoi(getenv("ERROR_OF_ACCEPT"));
  return -1;
}
