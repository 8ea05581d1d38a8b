/* A library that tests/native/listeners.rs preloads into a listening program. The accept4() of this library closes
   every second connection, and fails with the error in ERROR_OF_ACCEPT. The accept4() of Linux also fails if the new
   socket has a pending error, see accept(2). */
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
