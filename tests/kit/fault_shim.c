/* Kills its process at the k-th write, flush, truncation, link, rename or removal below a folder,
 * or half way through a write; and keeps a log of them. Built and preloaded by the tests. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long seen, kill_at;
static int torn;
static char prefix[512];
static char journal[1 << 20];
static size_t used;

void shim_arm(const char *folder, long at, int half) {
    strncpy(prefix, folder, sizeof prefix - 1);
    seen = 0; kill_at = at; torn = half; used = 0; journal[0] = 0;
}
const char *shim_log(void) { return journal; }
long shim_seen(void) { return seen; }

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Returns 1 where a write is to be cut in half before dying. */
static int step(const char *what, const char *path) {
    if (!prefix[0] || strncmp(path, prefix, strlen(prefix))) return 0;
    seen++;
    if (used + 600 < sizeof journal)
        used += (size_t)snprintf(journal + used, 600, "%s\t%s\n", what, path);
    if (seen != kill_at) return 0;
    if (torn && strstr(what, "write")) return 1;
    die();
    return 0;
}

static int step_fd(const char *what, int fd) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return step(what, path);
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *b, size_t n) {
    REAL(write);
    if (step_fd("write", fd)) { real(fd, b, n / 2); die(); }
    return real(fd, b, n);
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
    REAL(pwrite);
    if (step_fd("pwrite", fd)) { real(fd, b, n / 2, o); die(); }
    return real(fd, b, n, o);
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
    REAL(pwrite64);
    if (step_fd("pwrite", fd)) { real(fd, b, n / 2, o); die(); }
    return real(fd, b, n, o);
}
int fsync(int fd) { REAL(fsync); step_fd("fsync", fd); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); step_fd("fsync", fd); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); step_fd("truncate", fd); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); step_fd("truncate", fd); return real(fd, n); }
int unlink(const char *p) { REAL(unlink); step("unlink", p); return real(p); }
int unlinkat(int d, const char *p, int f) { REAL(unlinkat); step("unlink", p); return real(d, p, f); }
int rename(const char *a, const char *b) { REAL(rename); step("rename", b); return real(a, b); }
int link(const char *a, const char *b) { REAL(link); step("link", b); return real(a, b); }
int linkat(int x, const char *a, int y, const char *b, int f) {
    REAL(linkat); step("link", b); return real(x, a, y, b, f);
}
