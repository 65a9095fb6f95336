/* Preloaded into a process, and so into all that it starts, notes each process and what asks for the network, be it
   Python or native code (Linux, LD_PRELOAD).

   SOCKETS_LOG   the file of notes, a line each: "process", or what was called

   Sockets between processes of one machine (AF_UNIX, socketpair) are none of the network. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name))

static void note(const char *line) {
  const char *path = getenv("SOCKETS_LOG");
  int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (log < 0 || write(log, line, strlen(line)) < 0) abort();
  close(log);
}

__attribute__((constructor)) static void begin(void) { note("process\n"); }

int socket(int family, int type, int protocol) {
  if (family != AF_UNIX) note("socket\n");
  return REAL(int, "socket", int, int, int)(family, type, protocol);
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
  note("getaddrinfo\n");
  return REAL(int, "getaddrinfo", const char *, const char *, const struct addrinfo *, struct addrinfo **)(
      host, port, hints, found);
}

struct hostent *gethostbyname(const char *host) {
  note("gethostbyname\n");
  return REAL(struct hostent *, "gethostbyname", const char *)(host);
}
