/* Makes changes of files under a folder fail in the process that preloads it (Linux, LD_PRELOAD).

   ATTACK_UNDER   the folder
   ATTACK_HOW     kill      the process dies before its ATTACK_AT-th change of a file
                  full      from that change on the disk is full
                  readonly  from that change on the disk is read-only
                  locks     the file system has no locks
                  count     no fault; ATTACK_LOG gets a line for each change: number, operation, file
   ATTACK_CLOCK   seconds by which every second reading of the clock is wrong  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name))
enum { SHRINKS, GROWS };

static long changes;

static int how(const char *mode) {
  const char *set = getenv("ATTACK_HOW");
  return set && !strcmp(set, mode);
}

static int path_under(const char *path) {
  const char *folder = getenv("ATTACK_UNDER");
  char absolute[PATH_MAX];
  if (!folder || !path) return 0;
  if (*path != '/') {
    if (!getcwd(absolute, sizeof absolute)) return 0;
    return !strncmp(absolute, folder, strlen(folder));
  }
  return !strncmp(path, folder, strlen(folder));
}

static char *file_of(int fd, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, PATH_MAX - 1);
  path[n < 0 ? 0 : n] = 0;
  return path;
}

static int file_under(int fd) {
  char path[PATH_MAX];
  return path_under(file_of(fd, path));
}

static void tell(long n, const char *what, const char *path) {
  char line[PATH_MAX + 64];
  int length = snprintf(line, sizeof line, "%ld\t%s\t%s\n", n, what, path);
  int log = REAL(int, "open", const char *, int, int)(getenv("ATTACK_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (log < 0) abort();
  if (REAL(ssize_t, "write", int, const void *, size_t)(log, line, length) != length) abort();
  close(log);
}

/* Counts a change; returns 1 and sets errno if it fails. */
static int fails(int grows, const char *what, const char *path) {
  long n = __atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
  if (how("count")) tell(n, what, path);
  const char *at = getenv("ATTACK_AT");
  if (!at || n < atol(at)) return 0;
  if (how("kill")) raise(SIGKILL);
  if (how("full") && grows) return errno = ENOSPC, 1;
  if (how("readonly")) return errno = EROFS, 1;
  return 0;
}

/* The same for an open file of the folder. */
static int file_fails(int fd, int grows, const char *what) {
  char path[PATH_MAX];
  return path_under(file_of(fd, path)) && fails(grows, what, path);
}

static int opening_fails(const char *path, int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT)) return 0;
  if (!path_under(path)) return 0;
  return fails((flags & O_CREAT) && access(path, F_OK), "open", path);
}

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    va_list more;                                                              \
    va_start(more, flags);                                                     \
    int mode = va_arg(more, int);                                              \
    va_end(more);                                                              \
    if (opening_fails(path, flags)) return -1;                                 \
    return REAL(int, #name, const char *, int, int)(path, flags, mode);        \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                           \
  int name(int folder, const char *path, int flags, ...) {                     \
    va_list more;                                                              \
    va_start(more, flags);                                                     \
    int mode = va_arg(more, int);                                              \
    va_end(more);                                                              \
    if (opening_fails(path, flags)) return -1;                                 \
    return REAL(int, #name, int, const char *, int, int)(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                            \
  FILE *name(const char *path, const char *mode) {                             \
    int flags = *mode == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR | (*mode == 'r' ? 0 : O_CREAT); \
    if (opening_fails(path, flags)) return NULL;                               \
    return REAL(FILE *, #name, const char *, const char *)(path, mode);        \
  }
FOPEN(fopen)
FOPEN(fopen64)

/* llama.cpp writes a state in thousands of pieces: one in 256 counts. */
size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
  static long pieces;
  const char *at = getenv("ATTACK_AT");
  if (file_under(fileno(file))) {
    if (__atomic_fetch_add(&pieces, 1, __ATOMIC_SEQ_CST) % 256 == 0 ? file_fails(fileno(file), GROWS, "fwrite")
        : at && changes >= atol(at) && (how("full") || how("readonly"))) {
      errno = how("full") ? ENOSPC : EROFS;
      return 0;
    }
  }
  return REAL(size_t, "fwrite", const void *, size_t, size_t, FILE *)(data, size, n, file);
}

ssize_t write(int fd, const void *data, size_t size) {
  if (file_fails(fd, GROWS, "write")) return -1;
  return REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
  if (file_fails(fd, GROWS, "write")) return -1;
  return REAL(ssize_t, "writev", int, const struct iovec *, int)(fd, parts, n);
}

/* shutil copies files by this. */
#define SENDFILE(name)                                                         \
  ssize_t name(int to, int from, off_t *at, size_t size) {                     \
    if (file_fails(to, GROWS, "write")) return -1;                             \
    return REAL(ssize_t, #name, int, int, off_t *, size_t)(to, from, at, size); \
  }
SENDFILE(sendfile)
SENDFILE(sendfile64)

#define PWRITE(name)                                                           \
  ssize_t name(int fd, const void *data, size_t size, off_t at) {              \
    if (file_fails(fd, GROWS, "write")) return -1;                             \
    return REAL(ssize_t, #name, int, const void *, size_t, off_t)(fd, data, size, at); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name)                                                         \
  int name(int fd, off_t size) {                                               \
    struct stat now;                                                           \
    if (file_fails(fd, fstat(fd, &now) || now.st_size < size ? GROWS : SHRINKS, "truncate")) return -1; \
    return REAL(int, #name, int, off_t)(fd, size);                             \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define TWO(name)                                                              \
  int name(const char *from, const char *to) {                                 \
    if (path_under(to) && fails(GROWS, #name, to)) return -1;                  \
    return REAL(int, #name, const char *, const char *)(from, to);             \
  }
TWO(rename)
TWO(link)
TWO(symlink)

int mkdir(const char *path, mode_t mode) {
  if (path_under(path) && access(path, F_OK) && fails(GROWS, "mkdir", path)) return -1;
  return REAL(int, "mkdir", const char *, mode_t)(path, mode);
}

#define REMOVE(name)                                                           \
  int name(const char *path) {                                                 \
    if (path_under(path) && !access(path, F_OK) && fails(SHRINKS, #name, path)) return -1;\
    return REAL(int, #name, const char *)(path);                               \
  }
REMOVE(unlink)
REMOVE(rmdir)

/* shutil.rmtree removes files by this. */
int unlinkat(int folder, const char *path, int flags) {
  if (file_fails(folder, SHRINKS, "unlinkat")) return -1;
  return REAL(int, "unlinkat", int, const char *, int)(folder, path, flags);
}

int chmod(const char *path, mode_t mode) {
  if (path_under(path) && fails(SHRINKS, "chmod", path)) return -1;
  return REAL(int, "chmod", const char *, mode_t)(path, mode);
}

#define SYNC(name)                                                             \
  int name(int fd) {                                                           \
    if (file_fails(fd, SHRINKS, #name)) return -1;                             \
    return REAL(int, #name, int)(fd);                                          \
  }
SYNC(fsync)
SYNC(fdatasync)

#define FCNTL(name)                                                            \
  int name(int fd, int command, ...) {                                         \
    va_list more;                                                              \
    va_start(more, command);                                                   \
    void *argument = va_arg(more, void *);                                     \
    va_end(more);                                                              \
    if ((command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK) && how("locks") && file_under(fd)) \
      return errno = ENOLCK, -1;                                               \
    return REAL(int, #name, int, int, void *)(fd, command, argument);          \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int fd, int operation) {
  if (how("locks") && file_under(fd)) return errno = ENOLCK, -1;
  return REAL(int, "flock", int, int)(fd, operation);
}

static long off(void) {
  static long looks;
  const char *seconds = getenv("ATTACK_CLOCK");
  return seconds && __atomic_add_fetch(&looks, 1, __ATOMIC_SEQ_CST) % 2 ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = REAL(int, "clock_gettime", clockid_t, struct timespec *)(clock, now);
  if (!failed && clock == CLOCK_REALTIME) now->tv_sec += off();
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int failed = REAL(int, "gettimeofday", struct timeval *, void *)(now, zone);
  if (!failed) now->tv_sec += off();
  return failed;
}

time_t time(time_t *now) {
  time_t found = REAL(time_t, "time", time_t *)(NULL) + off();
  if (now) *now = found;
  return found;
}
